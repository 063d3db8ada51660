#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "sim/core/result.hpp"
#include "sim/core/robust_stats.hpp"
#include "sim/import/command/import_command.hpp"
#include "sim/import/command/load.hpp"
#include "sim/import/replay/replay.hpp"
#include "sim/import/replay/what_if.hpp"
#include "sim/io/json.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/timeline/chrome_trace.hpp"

namespace stepcast {
namespace {
struct ReplayArguments {
  std::vector<std::string> files, faster;
  std::string cluster, output;
  double bandwidth = 1, latency = 1, host = 1, compute = 1, compress = 0, codec_GBps = 200;
  std::int64_t bucket_MiB = 0;
  int data_parallel = 0, nodes = 0;
  bool equalise = false, stragglers = false, no_gaps = false, is_json = false;
};
/// Mean over steps and ranks: where a step's time goes.
struct Summary { double step = 0, compute = 0, transfer = 0, wait = 0, other = 0; std::string last_rank; };

Summary summary_of(const Workload& w, const ReplayResult& r) {
  Summary s;
  double steps = 0;
  std::vector<double> ends(w.ranks.size(), 0);
  for (std::size_t i = 0; i < r.step_s.size(); ++i)
    if (r.step_s[i] > 0) s.step += r.step_s[i], ++steps;
  if (steps == 0) return s;
  s.step /= steps;
  double longest = -1;
  for (std::size_t k = 0; k < w.ranks.size(); ++k) {
    double busy = 0;
    for (const auto& rs : r.ranks[k]) s.compute += rs.compute_s, s.transfer += rs.transfer_s, s.wait += rs.wait_s, busy += rs.compute_s;
    if (busy > longest) longest = busy, s.last_rank = fmt::format("rank {}", w.ranks[k].rank);
  }
  const double share = steps * static_cast<double>(w.ranks.size());
  s.compute /= share, s.transfer /= share, s.wait /= share;
  s.other = s.step - s.compute - s.transfer - s.wait;  // negative where work overlaps
  return s;
}
void print_difference(const std::string& name, const Summary& base, const Summary& now, const std::string& assumption, std::int64_t changed) {
  fmt::print("\n{}\n  {:<12} {:>12} {:>12} {:>12} {:>9}\n", name, "ms a step", "base", "changed", "difference", "%");
  const auto row = [](const char* what, double a, double b) {
    fmt::print("  {:<12} {:>12.3f} {:>12.3f} {:>+12.3f} {:>+8.1f}%\n", what, a * 1e3, b * 1e3, (b - a) * 1e3, a != 0 ? 100 * (b / a - 1) : 0.0);
  };
  row("step", base.step, now.step), row("compute", base.compute, now.compute), row("transfer", base.transfer, now.transfer), row("waiting", base.wait, now.wait);
  fmt::print("  rests on: {}\n", assumption);
  if (changed == 0) fmt::print("  warning: no op was changed by this\n");
}
Json json_of(const Summary& s) { return {{"step_s", s.step}, {"compute_s", s.compute}, {"transfer_s", s.transfer}, {"wait_s", s.wait}}; }

std::pair<std::string, double> name_and_factor(const std::string& text) {
  const auto equals = text.rfind('=');
  double factor = 0;
  try {
    if (equals != std::string::npos && equals > 0) factor = std::stod(text.substr(equals + 1));
  } catch (const std::exception&) {
    factor = 0;
  }
  if (!(factor > 0)) throw InputError(Problem{"--faster", "", "\"" + text + "\" is not NAME=FACTOR with a factor above 0", "--faster gemm=1.5"});
  return {text.substr(0, equals), factor};
}

int run(const ReplayArguments& a) {
  const InputFiles files(a.files);
  const Loaded loaded = load(files, {}, a.files.size() == files.paths().size());
  Anomalies anomalies = loaded.anomalies;
  const Workload base = workload_from(loaded, anomalies);
  const ReplayOptions options{.keep_delays = !a.no_gaps};
  const ReplayResult as_was = replay(base, options);
  const Summary was = summary_of(base, as_was);
  Json json{{"origin", base.origin}, {"ranks", base.ranks.size()}, {"ops", base.op_count()}, {"as_it_was", json_of(was)}, {"steps", Json::array()}, {"changes", Json::array()}};
  std::vector<double> errors;
  for (std::size_t s = 0; s < base.steps.size(); ++s) {
    json["steps"].push_back({{"number", base.steps[s].number}, {"measured_s", base.steps[s].measured_s}, {"replayed_s", as_was.step_s[s]}});
    if (base.steps[s].measured_s > 0 && as_was.step_s[s] > 0) errors.push_back(as_was.step_s[s] / base.steps[s].measured_s - 1);
  }
  if (!a.is_json) {
    fmt::print("{}: {} ranks, {} ops, {} steps; busiest {}\n", base.origin, base.ranks.size(), base.op_count(), base.steps.size(), was.last_rank);
    for (const auto& note : base.notes) fmt::print("  {}\n", note);
    fmt::print("as it was: {:.3f} ms a step (compute {:.3f}, transfer {:.3f}, waiting {:.3f} ms a rank)", was.step * 1e3, was.compute * 1e3, was.transfer * 1e3, was.wait * 1e3);
    if (!errors.empty()) {
      std::vector<double> absolute;
      for (const double e : errors) absolute.push_back(std::abs(e));
      fmt::print("; against the recording: median error {:.2f} %, worst {:.2f} %, bias {:+.2f} %", 100 * median(absolute), 100 * quantile(absolute, 1), 100 * mean(errors));
    }
    fmt::print("\n");
  }
  const auto report = [&](const std::string& name, const Change& change, Transport* transport) {
    ReplayOptions with = options;
    with.transport = transport;
    const ReplayResult r = replay(change.workload, with);
    const Summary now = summary_of(change.workload, r);
    json["changes"].push_back({{"name", name}, {"rests_on", change.assumption}, {"ops_changed", change.ops_changed}, {"changed", json_of(now)}, {"step_ratio", was.step > 0 ? now.step / was.step : 0}});
    if (!a.is_json) print_difference(name, was, now, change.assumption, change.ops_changed);
  };
  for (const std::string& text : a.faster) {
    const auto [name, factor] = name_and_factor(text);
    report(fmt::format("compute named *{}* {:g} times as fast", name, factor), with_faster(base, name, factor), nullptr);
  }
  if (a.compute != 1) report(fmt::format("another GPU, compute {:g} times as fast", a.compute), with_faster(base, "", a.compute), nullptr);
  if (a.host != 1) report(fmt::format("host {:g} times as fast", a.host), with_faster_host(base, a.host), nullptr);
  if (a.bandwidth != 1 || a.latency != 1) report(fmt::format("network bandwidth x {:g}, latency x {:g}", a.bandwidth, a.latency), with_network_factors(base, a.bandwidth, a.latency), nullptr);
  if (a.compress > 0) report(fmt::format("gradients compressed to {:g}", a.compress), with_compression(base, a.compress, a.codec_GBps), nullptr);
  if (a.bucket_MiB > 0) report(fmt::format("gradient buckets of {} MiB", a.bucket_MiB), with_bucket(base, a.bucket_MiB << 20), nullptr);
  if (a.data_parallel > 0) report(fmt::format("data-parallel size {}", a.data_parallel), with_data_parallel_size(base, a.data_parallel), nullptr);
  if (a.equalise) report("every rank and step alike (no stragglers)", equalised(base), nullptr);
  if (!a.cluster.empty()) {
    Json cluster{{"preset", a.cluster}};
    if (a.nodes > 0) cluster["nodes"] = a.nodes;
    const Scenario scenario = scenario_of(Json{{"stepcast", 1}, {"cluster", cluster}, {"collective", {{"operation", "all_reduce"}}}}, "--cluster").value_or_throw();
    const Profile profile = profile_of(scenario).value_or_throw();
    const auto transport = cluster_transport(scenario.cluster, profile.collectives);
    Change change = a.data_parallel > 0 ? with_data_parallel_size(base, a.data_parallel) : Change{base, "", 0};
    std::int64_t known = 0, all = 0;
    for (const WorkRank& rank : base.ranks)
      for (const WorkOp& o : rank.ops)
        if (o.kind == WorkKind::collective || o.kind == WorkKind::send) ++all, known += o.bytes > 0;
    change.assumption = fmt::format("collectives and messages with known bytes ({} of {}) cross {} under profile {}; the rest keeps its recorded time; ranks fill nodes in order", known, all, a.cluster, profile.name);
    change.ops_changed = known;
    report("network replaced by " + a.cluster, change, transport.get());
  }
  if (a.stragglers) {
    const StragglerReport s = straggler_report(base);
    json["stragglers"] = {{"as_was_s", s.as_was_s}, {"ideal_s", s.ideal_s}, {"slowdown", s.slowdown}};
    if (!a.is_json) fmt::print("\nstragglers: {:.3f} ms without launch gaps, {:.3f} with every op of a class alike: slowdown {:.3f}\n", s.as_was_s * 1e3, s.ideal_s * 1e3, s.slowdown);
    for (const auto& [name, list] : {std::pair{"rank", &s.ranks}, {"stage", &s.stages}, {"op", &s.ops}}) {
      json["stragglers"][name] = Json::array();
      for (const Attribution& entry : *list) {
        json["stragglers"][name].push_back({{"what", entry.what}, {"slowdown", entry.slowdown}});
        if (!a.is_json) fmt::print("  {:<40} {:.4f}\n", entry.what, entry.slowdown);
      }
    }
  }
  if (!a.output.empty()) write_chrome_trace(*replay(base, {.keep_delays = !a.no_gaps, .record_timeline = true}).timeline, a.output);
  json["anomalies"] = anomalies.json();
  if (a.is_json) fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
  else if (!anomalies.empty()) fmt::print("\n{}", anomalies.text());
  return 0;
}
}  // namespace

void add_replay_command(CLI::App& app, int& exit_code) {
  auto a = std::make_shared<ReplayArguments>();
  CLI::App& c = *app.add_subcommand("replay", "run a recorded job again, as it was and changed");
  const auto positive = CLI::Range(1e-6, 1e6);
  c.add_option("workload", a->files, "a workload file, or the traces of one job")->required()->type_name("FILE...");
  c.add_option("--faster", a->faster, "compute ops whose name contains NAME run FACTOR times as fast; repeatable")->type_name("NAME=FACTOR")->type_size(1)->allow_extra_args(false)->expected(1)->take_all();
  c.add_option("--compute", a->compute, "every compute op so many times as fast: another GPU by the ratio of its profile [1]")->check(positive)->type_name("FACTOR");
  c.add_option("--host", a->host, "host work so many times as fast [1]")->check(positive)->type_name("FACTOR");
  c.add_option("--bandwidth", a->bandwidth, "network bandwidth times this [1]")->check(positive)->type_name("FACTOR");
  c.add_option("--latency", a->latency, "network start-up times this [1]")->check(CLI::Range(0.0, 1e6))->type_name("FACTOR");
  c.add_option("--cluster", a->cluster, "replace the network by this cluster preset (stepcast list clusters)")->type_name("NAME");
  c.add_option("--nodes", a->nodes, "its nodes [the preset's]")->check(CLI::Range(1, 1'000'000))->type_name("N");
  c.add_option("--compress", a->compress, "gradients shrink to this part of their bytes")->check(CLI::Range(1e-6, 1.0))->type_name("RATIO");
  c.add_option("--codec-GBps", a->codec_GBps, "rate of encoding and of decoding [200]")->check(positive)->type_name("GB/s");
  c.add_option("--bucket-MiB", a->bucket_MiB, "gradient buckets of this size")->check(CLI::Range(1, 1'000'000))->type_name("MiB");
  c.add_option("--data-parallel", a->data_parallel, "data-parallel groups of this many ranks")->check(CLI::Range(1, 10'000'000))->type_name("N");
  c.add_flag("--equalise", a->equalise, "every op takes its class's usual time: no stragglers");
  c.add_flag("--stragglers", a->stragglers, "slowdown by rank, stage and op class");
  c.add_flag("--no-gaps", a->no_gaps, "without launch gaps and other unexplained delays");
  c.add_option("-o,--output", a->output, "write the replayed timeline as a Chrome trace (.json, .json.gz)")->type_name("FILE");
  c.add_flag("--json", a->is_json, "print one JSON document and nothing else");
  c.callback([a, &exit_code] { exit_code = run(*a); });
}
}  // namespace stepcast
