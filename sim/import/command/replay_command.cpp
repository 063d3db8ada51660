#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "sim/core/counted.hpp"
#include "sim/core/result.hpp"
#include "sim/core/robust_stats.hpp"
#include "sim/import/command/import_command.hpp"
#include "sim/import/command/load.hpp"
#include "sim/import/command/replay_report.hpp"
#include "sim/import/costs/kernel_samples.hpp"
#include "sim/io/json.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/timeline/chrome_trace.hpp"

namespace stepcast {
namespace {
struct ReplayArguments {
  std::vector<std::string> files, faster, equalise;
  std::string cluster, output, gpu, from_gpu;
  double bandwidth = 1, latency = 1, host = 1, compute = 1, compress = 0, codec_GBps = 200;
  std::int64_t bucket_MiB = 0;
  int data_parallel = 0, nodes = 0;
  bool stragglers = false, graphs = false, no_gaps = false, is_json = false, allow_partial = false;
};
/// A what-if by name; a network may stand in for the recorded transfers.
struct WhatIf {
  std::string name;
  std::function<Change(const Workload&)> change;
  std::unique_ptr<Transport> transport;
};

std::pair<std::string, double> name_and_factor(const std::string& text) {
  const auto equals = text.rfind('=');
  double factor = 0;
  try {
    if (equals != std::string::npos && equals > 0) factor = std::stod(text.substr(equals + 1));
  } catch (const std::exception&) {
    factor = 0;
  }
  if (!(factor > 0) || !std::isfinite(factor))
    throw InputError(Problem{"--faster", "",
                             "\"" + text + "\" is not NAME=FACTOR with a factor above 0",
                             "--faster gemm=1.5"});
  return {text.substr(0, equals), factor};
}

/// Whether any op is meant; a change that meets none would print "no change" for a typing error.
bool meets_any(const Workload& w,
               const std::function<bool(const WorkRank&, const WorkOp&)>& is_meant) {
  return std::any_of(w.ranks.begin(), w.ranks.end(), [&](const WorkRank& r) {
    return std::any_of(r.ops.begin(), r.ops.end(), [&](const WorkOp& o) { return is_meant(r, o); });
  });
}

/// "all", "rank=3", "stage=2" or "op=NAME": who loses what sets it apart.
Change equalised_by(const Workload& w, const std::string& text) {
  if (text == "all") return equalised(w);
  const auto equals = text.find('=');
  const std::string kind = text.substr(0, equals),
                    value = equals == std::string::npos ? "" : text.substr(equals + 1);
  Keeps keeps;
  if (kind == "op" && !value.empty()) {
    keeps = [&w, value](const WorkRank&, const WorkOp& o) {
      return w.names.text_of(o.name).find(value) == std::string::npos;
    };
  } else if ((kind == "rank" || kind == "stage") && !value.empty() &&
             value.find_first_not_of("0123456789") == std::string::npos && value.size() < 9) {
    const int number = std::stoi(value);
    keeps = [kind, number](const WorkRank& r, const WorkOp&) {
      return (kind == "rank" ? r.rank : r.stage) != number;
    };
  } else {
    throw InputError(
        Problem{"--equalise", "", "\"" + text + "\" is none of all, rank=N, stage=N, op=NAME", ""});
  }
  if (!meets_any(w, [&](const WorkRank& r, const WorkOp& o) { return !keeps(r, o); }))
    throw InputError(Problem{"--equalise", "", "the workload has no " + text, ""});
  return equalised(w, keeps);
}

Profile recorded_profile(const ReplayArguments& a, const Workload& w) {
  if (!a.from_gpu.empty()) return base_profile(a.from_gpu, "--from-gpu");
  const std::string found = bundled_profile_of(w.device);
  if (found.empty())
    throw InputError(Problem{"--gpu", "",
                             w.device.empty()
                                 ? "the workload does not say which GPU it was recorded on"
                                 : "\"" + w.device + "\" has no bundled profile",
                             "name one with --from-gpu"});
  return base_profile(found);
}

Scenario cluster_scenario(const ReplayArguments& a) {
  Json cluster{{"preset", a.cluster}};
  if (a.nodes > 0) cluster["nodes"] = a.nodes;
  return scenario_of(Json{{"stepcast", 1},
                          {"cluster", cluster},
                          {"collective", {{"operation", "all_reduce"}}}},
                     "--cluster")
      .value_or_throw();
}

std::vector<WhatIf> what_ifs_of(const ReplayArguments& a, const Workload& base) {
  std::vector<WhatIf> list;
  for (const std::string& text : a.faster) {
    const auto [name, factor] = name_and_factor(text);
    if (!meets_any(base, [&, part = name](const WorkRank&, const WorkOp& o) {
          return o.kind == WorkKind::compute &&
                 base.names.text_of(o.name).find(part) != std::string::npos;
        }))
      throw InputError(Problem{"--faster", "",
                               "no compute op of the workload has \"" + name + "\" in its name",
                               "stepcast import lists the costliest ones"});
    list.push_back(
        {fmt::format("compute named *{}* {:g} times as fast", name, factor),
         [name = name, factor = factor](const Workload& w) { return with_faster(w, name, factor); },
         nullptr});
  }
  if (a.compute != 1)
    list.push_back({fmt::format("all compute {:g} times as fast", a.compute),
                    [f = a.compute](const Workload& w) { return with_faster(w, "", f); }, nullptr});
  if (!a.gpu.empty()) {
    const auto from = std::make_shared<Profile>(recorded_profile(a, base)),
               to = std::make_shared<Profile>(base_profile(a.gpu, "--gpu"));
    list.push_back({fmt::format("GPU {} in place of {}", to->name, from->name),
                    [from, to](const Workload& w) { return with_other_gpu(w, *from, *to); },
                    nullptr});
  }
  if (a.host != 1)
    list.push_back({fmt::format("host {:g} times as fast", a.host),
                    [f = a.host](const Workload& w) { return with_faster_host(w, f); }, nullptr});
  if (a.graphs)
    list.push_back({"launches captured into CUDA graphs",
                    [](const Workload& w) { return with_captured_launches(w); }, nullptr});
  if (a.bandwidth != 1 || a.latency != 1)
    list.push_back({fmt::format("network bandwidth x {:g}, latency x {:g}", a.bandwidth, a.latency),
                    [b = a.bandwidth, l = a.latency](const Workload& w) {
                      return with_network_factors(w, b, l);
                    },
                    nullptr});
  if (a.compress > 0)
    list.push_back({fmt::format("gradients compressed to {:g} of their bytes", a.compress),
                    [r = a.compress, c = a.codec_GBps](const Workload& w) {
                      return with_compression(w, r, c);
                    },
                    nullptr});
  if (a.bucket_MiB > 0)
    list.push_back({fmt::format("gradient buckets of {} MiB", a.bucket_MiB),
                    [b = a.bucket_MiB](const Workload& w) { return with_bucket(w, b << 20); },
                    nullptr});
  if (a.data_parallel > 0)
    list.push_back(
        {fmt::format("data-parallel size {}", a.data_parallel),
         [n = a.data_parallel](const Workload& w) { return with_data_parallel_size(w, n); },
         nullptr});
  for (const std::string& text : a.equalise)
    list.push_back({text == "all" ? "every rank and step alike (no stragglers)"
                                  : fmt::format("{} like the others", text),
                    [text](const Workload& w) { return equalised_by(w, text); }, nullptr});
  if (!a.cluster.empty()) {
    const Scenario scenario = cluster_scenario(a);
    const Profile profile = profile_of(scenario).value_or_throw();
    const Workload grown =
        a.data_parallel > 0 ? with_data_parallel_size(base, a.data_parallel).workload : base;
    const std::string name = fmt::format(
        "network of {} nodes {}{}", scenario.cluster.nodes(), a.cluster,
        a.data_parallel > 0 ? fmt::format(", data-parallel size {}", a.data_parallel) : "");
    const auto change = [name = a.cluster, profile_name = profile.name,
                         n = a.data_parallel](const Workload& w) {
      Change c = n > 0 ? with_data_parallel_size(w, n) : Change{w, "", 0};
      std::int64_t known = 0, all = 0;
      for (const WorkRank& rank : w.ranks)
        for (const WorkOp& o : rank.ops)
          if (o.kind == WorkKind::collective || o.kind == WorkKind::send)
            ++all, known += o.bytes > 0;
      c.assumption = fmt::format(
          "collectives and messages with known bytes ({} of {}) cross {} under profile {}, sharing "
          "its links; the rest keeps its recorded time; ranks fill nodes in order",
          known, all, name, profile_name);
      c.ops_changed = known;
      return c;
    };
    list.push_back({name, change, cluster_transport(grown, scenario.cluster, profile.collectives)});
  }
  return list;
}

Json stragglers_json(const StragglerReport& s) {
  Json json{{"as_was_s", s.as_was_s}, {"ideal_s", s.ideal_s}, {"slowdown", s.slowdown}};
  for (const auto& [name, list] :
       {std::pair{"rank", &s.ranks}, {"stage", &s.stages}, {"op", &s.ops}}) {
    json[name] = Json::array();
    for (const Attribution& entry : *list)
      json[name].push_back({{"what", entry.what}, {"slowdown", entry.slowdown}});
  }
  return json;
}
std::string stragglers_text(const StragglerReport& s) {
  std::string out = fmt::format(
      "\nstragglers: {:.3f} ms without launch gaps, {:.3f} with every op of a class alike: "
      "slowdown {:.3f}\n",
      s.as_was_s * 1e3, s.ideal_s * 1e3, s.slowdown);
  for (const auto* list : {&s.ranks, &s.stages, &s.ops})
    for (const Attribution& entry : *list)
      out += fmt::format("  {:<60} {:.4f}\n", entry.what.substr(0, 60), entry.slowdown);
  return out +
         "  rests on: everything equalised but the named one; compute takes its class's mean, "
         "transfers the median\n";
}

int run(const ReplayArguments& a) {
  const InputFiles files(a.files);
  const Loaded loaded = load(files, {.kind = ImportKind::unknown, .allow_partial = a.allow_partial},
                             files.names_single_files());
  Anomalies anomalies = loaded.anomalies;
  const Workload base = workload_from(loaded, anomalies);
  std::vector<WhatIf> what_ifs = what_ifs_of(a, base);
  ReplayOptions options{.keep_delays = !a.no_gaps};
  options.record_timeline = !a.output.empty();
  const ReplayResult as_was = replay(base, options);
  options.record_timeline = false;
  const StepSummary was = summary_of(as_was);
  const LateRanks late = late_ranks_of(base, as_was);
  Json json{{"origin", base.origin},  {"device", base.device},       {"ranks", base.ranks.size()},
            {"ops", base.op_count()}, {"notes", base.notes},         {"as_it_was", json_of(was)},
            {"steps", Json::array()}, {"late_ranks", Json::array()}, {"changes", Json::array()}};
  std::vector<double> errors, absolute;
  for (std::size_t s = 0; s < base.steps.size(); ++s) {
    json["steps"].push_back({{"number", base.steps[s].number},
                             {"measured_s", base.steps[s].measured_s},
                             {"replayed_s", as_was.step_s[s]}});
    if (base.steps[s].measured_s <= 0 || as_was.step_s[s] <= 0) continue;
    errors.push_back(as_was.step_s[s] / base.steps[s].measured_s - 1);
    absolute.push_back(std::abs(errors.back()));
  }
  for (const LateRank& l : late.ranks)
    json["late_ranks"].push_back({{"rank", l.rank},
                                  {"last_in", l.times},
                                  {"of", late.meetings},
                                  {"first_waits_s", l.cost_s}});
  if (!a.is_json) {
    fmt::print("{}: {}, {}, {}{}\n", base.origin, counted(base.ranks.size(), "rank"),
               counted(base.op_count(), "op"), counted(base.steps.size(), "step"),
               base.device.empty() ? "" : ", recorded on " + base.device);
    for (const auto& note : base.notes) fmt::print("  {}\n", note);
    fmt::print("as it was: {:.3f} ms a step", was.step_s * 1e3);
    if (!errors.empty())
      fmt::print("; against the {}: median error {:.2f} %, worst {:.2f} %, bias {:+.2f} %",
                 base.origin == "scenario" ? "simulation" : "recording", 100 * median(absolute),
                 100 * quantile(absolute, 1), 100 * mean(errors));
    fmt::print("\n  a rank's {:.3f} ms:", was.window_s * 1e3);
    for (std::size_t k = 0; k < kOwners; ++k)
      if (was.owned[k] > 0)
        fmt::print(" {} {:.3f}", text_of(static_cast<Owner>(k)), was.owned[k] * 1e3);
    fmt::print("\n  {}\n", pace_text(was));
    for (std::size_t i = 0; i < late.ranks.size() && i < 3; ++i)
      fmt::print(
          "  rank {} comes last to {} of {} collectives; the first to come waits {:.3f} ms for it "
          "in sum\n",
          late.ranks[i].rank, late.ranks[i].times, late.meetings, late.ranks[i].cost_s * 1e3);
  }
  const auto report = [&](const std::string& name, const Change& change, Transport* transport) {
    ReplayOptions with = options;
    with.transport = transport;
    const StepSummary now = summary_of(replay(change.workload, with));
    json["changes"].push_back({{"name", name},
                               {"rests_on", change.assumption},
                               {"ops_changed", change.ops_changed},
                               {"changed", json_of(now)},
                               {"step_ratio", was.step_s > 0 ? now.step_s / was.step_s : 0}});
    if (!a.is_json) fmt::print("{}", difference_text(name, was, now, change));
  };
  for (const WhatIf& w : what_ifs) report(w.name, w.change(base), w.transport.get());
  if (what_ifs.size() > 1) {
    Change all{base, "all of the above, one after the other", 0};
    Transport* transport = nullptr;
    for (const WhatIf& w : what_ifs) {
      Change next = w.change(all.workload);
      all.workload = std::move(next.workload);
      all.ops_changed += next.ops_changed;
      if (w.transport) transport = w.transport.get();
    }
    report("all of these together", all, transport);
  }
  if (a.stragglers) {
    const StragglerReport s = straggler_report(base);
    json["stragglers"] = stragglers_json(s);
    if (!a.is_json) fmt::print("{}", stragglers_text(s));
  }
  if (!a.output.empty()) write_chrome_trace(*as_was.timeline, a.output);
  json["anomalies"] = anomalies.json();
  if (a.is_json)
    fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
  else if (!anomalies.empty())
    fmt::print("\n{}", anomalies.text());
  return 0;
}
}  // namespace

void add_replay_command(CLI::App& app, int& exit_code) {
  auto a = std::make_shared<ReplayArguments>();
  CLI::App& c = *app.add_subcommand("replay", "run a recorded job again, as it was and changed");
  // CLI11's range lets NaN pass: it is neither below nor above.
  const CLI::Validator finite(
      [](std::string& text) {
        return text.find_first_of("nN") == std::string::npos ? "" : "\"" + text + "\" is no number";
      },
      "");
  const auto positive = CLI::Range(1e-6, 1e6) & finite;
  c.add_option("workload", a->files, "a workload file, or the traces of one job")
      ->required()
      ->type_name("FILE...");
  c.add_option("--faster", a->faster,
               "compute ops whose name contains NAME run FACTOR times as fast; repeatable")
      ->type_name("NAME=FACTOR")
      ->type_size(1)
      ->allow_extra_args(false)
      ->expected(1)
      ->take_all();
  c.add_option("--compute", a->compute, "every compute op so many times as fast [1]")
      ->check(positive)
      ->type_name("FACTOR");
  c.add_option("--gpu", a->gpu,
               "kernels at the ratio of this profile to the recorded GPU's (stepcast list "
               "profiles, or a file)")
      ->type_name("PROFILE");
  c.add_option("--from-gpu", a->from_gpu, "profile of the recorded GPU [by the name in the trace]")
      ->type_name("PROFILE");
  c.add_option("--host", a->host, "host work so many times as fast [1]")
      ->check(positive)
      ->type_name("FACTOR");
  c.add_flag("--graphs", a->graphs, "kernel launches captured into one CUDA graph a step");
  c.add_option("--bandwidth", a->bandwidth, "network bandwidth times this [1]")
      ->check(positive)
      ->type_name("FACTOR");
  c.add_option("--latency", a->latency, "network start-up times this [1]")
      ->check(CLI::Range(0.0, 1e6) & finite)
      ->type_name("FACTOR");
  c.add_option("--cluster", a->cluster,
               "replace the network by this cluster preset (stepcast list clusters)")
      ->type_name("NAME");
  c.add_option("--nodes", a->nodes, "its nodes [the preset's]")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
  c.add_option("--compress", a->compress, "gradients shrink to this part of their bytes")
      ->check(CLI::Range(1e-6, 1.0) & finite)
      ->type_name("RATIO");
  const CLI::Option* codec =
      c.add_option("--codec-GBps", a->codec_GBps, "rate of encoding and of decoding [200]")
          ->check(positive)
          ->type_name("GB/s");
  c.add_option("--bucket-MiB", a->bucket_MiB, "gradient buckets of this size")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("MiB");
  c.add_option("--data-parallel", a->data_parallel, "data-parallel groups of this many ranks")
      ->check(CLI::Range(1, 10'000'000))
      ->type_name("N");
  c.add_option("--equalise", a->equalise,
               "ops take their class's usual time: all, rank=N, stage=N or op=NAME; repeatable")
      ->type_name("WHO")
      ->type_size(1)
      ->allow_extra_args(false)
      ->expected(1)
      ->take_all();
  c.add_flag("--stragglers", a->stragglers,
             "slowdown by rank, stage and op class: everything equalised but that one");
  c.add_flag("--no-gaps", a->no_gaps, "without launch gaps and other unexplained delays");
  c.add_flag("--partial", a->allow_partial, "take what a file that breaks off holds");
  c.add_option("-o,--output", a->output,
               "write the replayed timeline as a Chrome trace (.json, .json.gz)")
      ->type_name("FILE");
  c.add_flag("--json", a->is_json, "print one JSON document and nothing else");
  c.callback([a, codec, &exit_code] {
    if (!a->from_gpu.empty() && a->gpu.empty())
      throw InputError(Problem{"--from-gpu", "", "has no effect without --gpu", ""});
    if (codec->count() > 0 && a->compress == 0)
      throw InputError(Problem{"--codec-GBps", "", "has no effect without --compress", ""});
    if (a->nodes > 0 && a->cluster.empty())
      throw InputError(Problem{"--nodes", "", "has no effect without --cluster", ""});
    exit_code = run(*a);
  });
}
}  // namespace stepcast
