#include "sim/scenario/assembly.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/cluster/gpu_catalogue.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/scenario/check_tradeoffs.hpp"
#include "sim/scenario/left_out.hpp"
#include "sim/scenario/parts.hpp"
#include "sim/scenario/read_data.hpp"
#include "sim/scenario/slowest_board.hpp"
#include "sim/scenario/unused_keys.hpp"

namespace stepcast {
namespace {
constexpr std::int64_t kFormatVersion = 1;  // "stepcast": 1
const std::vector<std::string> kTrainingSections{"model",       "training",   "parallel",
                                                 "compression", "stragglers", "mitigation",
                                                 "sync",        "converge",   "data"};

const Json* section_of(const Json& document, const std::string& key) {
  const auto it = document.find(key);
  return it == document.end() ? nullptr : &*it;
}
/// The same for "data/storage", one object inside another.
const Json* section_at(const Json& document, const std::string& path) {
  const auto slash = path.find('/');
  const Json* outer = section_of(document, path.substr(0, slash));
  if (slash == std::string::npos || outer == nullptr || !outer->is_object()) return outer;
  return section_of(*outer, path.substr(slash + 1));
}

/// One scenario on its way from documents to values.
class Assembly {
 public:
  Assembly(LayeredDocument& document, Json user, const std::string& file)
      : document_(document), user_(std::move(user)), file_(file) {}

  Scenario run(Problems& all) {
    scenario_.file = file_;
    const bool is_sweep = user_.contains("collective");
    if (is_sweep) refuse_training_sections();
    can_read_cluster_ = add_preset("cluster", "clusters", "");
    can_read_model_ = is_sweep || add_preset("model", "models", "");
    can_read_strategy_ = add_preset("strategy", "strategies", kDefaultStrategy);
    can_read_storage_ = add_preset("data/storage", "storage", "");
    merge();
    read(is_sweep);
    if (problems_.empty() && !is_sweep) scenario_.unused = unused_keys(scenario_, user_);
    for (const Problem& problem : problems_.list()) all.add(document_.placed(problem));
    return std::move(scenario_);
  }

 private:
  void problem(const std::string& place, std::string message, std::string hint = "") {
    problems_.add({file_, place, std::move(message), std::move(hint)});
  }

  void refuse_training_sections() {
    for (const std::string& key : kTrainingSections)
      if (user_.contains(key))
        problem("/" + key, "has no effect beside \"collective\", which runs no training step",
                "remove one of the two");
  }

  // Lays the preset that `section` names below what the person wrote. False: the section cannot be
  // read.
  bool add_preset(const std::string& section, const std::string& kind,
                  const std::string& default_name) {
    std::string name = default_name;
    const Json* written = section_at(user_, section);
    if (written != nullptr && !written->is_object()) return true;  // the section's reader says so
    if (const Json* preset = written == nullptr ? nullptr : section_of(*written, "preset")) {
      if (!preset->is_string()) {
        problem("/" + section + "/preset", "found " + preset->dump(-1, ' ', true).substr(0, 60) +
                                               ", expected the name of a preset");
        return false;
      }
      name = preset->get<std::string>();
    }
    if (name.empty()) return written != nullptr;
    auto content = read_preset(kind, name, file_, "/" + section + "/preset");
    if (!content) {
      problems_.add(content.problems());
      return false;
    }
    // A strategy stands for a framework: it also says how that framework lays out and trains unless
    // told otherwise.
    if (const Json* defaults = section_of(*content, "defaults")) {
      for (const auto& [key, value] : defaults->items())
        document_.add_at_bottom({preset_path(kind, name), "/" + key, value});
      content->erase("defaults");
    }
    (*content)["preset"] = name;
    document_.add_at_bottom({preset_path(kind, name), "/" + section, std::move(*content)});
    return true;
  }

  // Keys that say the same thing in other words: the one a person writes replaces the preset's
  // other.
  void merge() {
    merged_ = document_.presets();
    drop_restated("strategy", {"bucket_MiB"}, {"bucket_elements", "bucket_elements_per_dp_rank"});
    drop_restated("cluster", {"nic_GBps"}, {"nic_Gbps"});
    drop_restated("cluster", {"groups"}, {"nodes"});
    base_gpu_on_preset();
    // What the files and --set say together: a setting that replaces a section takes what the files
    // had in it away.
    merge_json(merged_, user_);
    take_gpu_from_profile();
  }
  // "gpu": {"memory_GBps": 1600} over a preset that names its GPU changes that one.
  void base_gpu_on_preset() {
    const Json* cluster = section_of(user_, "cluster");
    const Json* gpu =
        cluster != nullptr && cluster->is_object() ? section_of(*cluster, "gpu") : nullptr;
    if (gpu == nullptr || !gpu->is_object() || gpu->contains("base") || gpu->contains("name"))
      return;
    for (const Layer& layer : document_.layers())
      if (layer.prefix == "/cluster" && layer.content.contains("gpu") &&
          layer.content["gpu"].is_string())
        user_["cluster"]["gpu"]["base"] = layer.content["gpu"];
  }
  void drop_restated(const char* section, const std::vector<const char*>& ones,
                     const std::vector<const char*>& others) {
    const Json* written = section_of(user_, section);
    const auto at = merged_.find(section);
    if (written == nullptr || !written->is_object() || at == merged_.end() || !at->is_object())
      return;
    const auto writes = [&](const std::vector<const char*>& keys) {
      return std::any_of(keys.begin(), keys.end(),
                         [&](const char* k) { return written->contains(k); });
    };
    const bool writes_ones = writes(ones), writes_others = writes(others);
    if (writes_ones && !writes_others)
      for (const char* key : others) at->erase(key);
    if (writes_others && !writes_ones)
      for (const char* key : ones) at->erase(key);
  }

  /// "gpu": "profile": the machine that the profile was measured on, so that one scenario serves
  /// whatever machine was calibrated last.
  void take_gpu_from_profile() {
    const Json* cluster = section_of(merged_, "cluster");
    if (!can_read_cluster_ || cluster == nullptr || !cluster->is_object()) return;
    const Json* gpu = section_of(*cluster, "gpu");
    if (gpu == nullptr || *gpu != "profile") return;
    const Json* named = section_of(merged_, "profile");
    Scenario asks;
    asks.file = file_;
    can_read_cluster_ = false;  // until its GPU is known
    if (named == nullptr || !named->is_string() || (asks.profile = *named).empty())
      return problem("/cluster/gpu", "is \"profile\", but no profile is named",
                     "\"profile\": a file that stepcast calibrate wrote, or --profile");
    const Result<Profile> profile = profile_of(asks);
    if (!profile) return problems_.add(profile.problems());
    merged_["cluster"]["gpu"] = json_of(profile->gpu);
    can_read_cluster_ = true;
  }

  void read(bool is_sweep) {
    ObjectReader r(merged_, file_, "", problems_);
    if (r.integer("stepcast", {.fallback = kFormatVersion, .min = 0}) != kFormatVersion)
      r.problem("stepcast", fmt::format("this build reads format {}", kFormatVersion));
    scenario_.name = r.text("name", "");
    r.text("description", "");
    for (const char* later : {"faults", "cost"})
      if (r.raw(later) != nullptr)
        r.problem(later, "is not supported yet", "remove it; nothing would use it");
    scenario_.profile = r.text("profile", "");
    if (auto run = r.object("run"))
      scenario_.run = read_run(*run);
    else
      r.raw("run");
    read_hardware(r);
    if (is_sweep) {
      for (const std::string& key : kTrainingSections) r.raw(key);
      const int gpus =
          scenario_.cluster.groups.empty() ? 0 : scenario_.cluster.groups.front().spec.gpus;
      if (auto sweep = r.object("collective"))
        scenario_.collective_sweep = read_collective_sweep(*sweep, gpus);
      read_strategy_section(r);
    } else {
      r.raw("collective");
      read_training_step(r);
    }
    r.done();
    if (has_cluster_)
      if (const auto path = profile_path_of(scenario_); !path) problems_.add(path.problems());
  }

  void read_hardware(ObjectReader& r) {
    auto cluster = r.object("cluster");
    if (!cluster && can_read_cluster_)
      r.problem("cluster", "is missing; the hardware is expected",
                "for example { \"preset\": \"dgx-h100-ib400\", \"nodes\": 2 }");
    if (!cluster && !user_.contains("cluster")) {
      if (!can_read_cluster_)
        r.problem("cluster", "is missing; the hardware is expected",
                  "for example { \"preset\": \"dgx-h100-ib400\", \"nodes\": 2 }");
      return;
    }
    if (!cluster || !can_read_cluster_ || !merged_["cluster"].is_object()) return;
    const std::size_t before = problems_.size();
    scenario_.cluster = read_cluster(*cluster);
    has_cluster_ = is_sound_since(before) && !scenario_.cluster.groups.empty();
  }

  void read_training_step(ObjectReader& r) {
    const std::size_t before = problems_.size();
    auto model = r.object("model");
    if (!model) {
      if (!user_.contains("model"))
        r.problem("model", "is missing; what is trained is expected",
                  "for example { \"preset\": \"gpt3-175b\" }");
    } else if (can_read_model_ && merged_["model"].is_object()) {
      scenario_.model = read_model(*model);
    }
    const bool has_model = model && can_read_model_ && is_sound_since(before);

    const std::size_t before_layout = problems_.size();
    static const Json nothing = Json::object();
    auto parallel = r.object("parallel");
    scenario_.parallel =
        read_layout(parallel ? *parallel : ObjectReader(nothing, file_, "/parallel", problems_));
    const bool has_layout = is_sound_since(before_layout);
    const int world = has_cluster_ ? scenario_.cluster.gpus() : 0;
    const bool fits_world = has_layout && derive_dp(world, scenario_, problems_);

    const std::size_t before_training = problems_.size();
    fill_training_defaults(merged_, scenario_, has_model && has_layout, has_cluster_);
    auto training = r.object("training");
    scenario_.training =
        read_training(training ? *training : ObjectReader(nothing, file_, "/training", problems_));
    const bool has_training = is_sound_since(before_training);
    if (has_training && has_cluster_) check_precision(scenario_, problems_);
    if (has_model && has_layout && has_training)
      check_layout(scenario_.parallel, scenario_.model, scenario_.training, fits_world ? world : 0,
                   file_, problems_);
    // Without a pipeline every schedule is one forward and one backward after the other; gpipe
    // would hold all forwards.
    if (scenario_.parallel.pp == 1 && scenario_.parallel.virtual_stages == 1)
      scenario_.parallel.schedule = ScheduleKind::one_f_one_b;

    read_strategy_section(r);
    if (auto compression = r.object("compression"))
      scenario_.compression = read_compression(*compression);
    const int nodes = has_cluster_ ? scenario_.cluster.nodes() : 0;
    for (const ObjectReader& straggler : r.objects("stragglers"))
      scenario_.stragglers.push_back(read_straggler(straggler, world, nodes));
    if (auto mitigation = r.object("mitigation"))
      scenario_.mitigation = read_mitigation(*mitigation);
    if (auto sync = r.object("sync")) scenario_.sync = read_sync(*sync, nodes);
    if (auto converge = r.object("converge")) scenario_.converge = read_converge(*converge);
    if (auto data = r.object("data");
        data && merged_["data"].is_object() && has_model && has_training)
      read_data_section(*data);
    if (has_cluster_ && has_layout && problems_.empty())
      check_tradeoffs(scenario_, file_, problems_);
    check_link_events();
    if (has_cluster_ && has_model && has_layout && problems_.empty())
      if (const std::string note = slowest_board_note(scenario_); !note.empty())
        scenario_.notes.push_back(note);
  }

  void read_data_section(const ObjectReader& r) {
    const DataContext context{
        scenario_.model, scenario_.training,
        scenario_.cluster.groups.empty() ? 1 : scenario_.cluster.groups.front().spec.gpus};
    // A preset that could not be read is a problem of its own; its keys are not missed once more.
    const bool knows_storage = can_read_storage_ || section_at(user_, "data/storage") == nullptr;
    if (!knows_storage) return;
    scenario_.data = read_data(r, context, scenario_.notes);
    // Batches come in bunches; a step is one of many.
    constexpr int kDefaultSteps = 30;
    if (section_at(user_, "run/steps") != nullptr) return;
    scenario_.run.steps = kDefaultSteps;
    scenario_.notes.push_back(
        fmt::format("run.steps = {} was not given: loaders bunch their batches", kDefaultSteps));
  }

  void read_strategy_section(ObjectReader& r) {
    auto strategy = r.object("strategy");
    if (!strategy || !can_read_strategy_) return;
    scenario_.strategy = read_strategy(*strategy, scenario_.parallel.dp * scenario_.parallel.cp,
                                       bytes_per_element(scenario_.training.gradient_precision));
  }

  // True when nothing worse than an unknown key was found since: values may then be checked against
  // each other.
  bool is_sound_since(std::size_t before) const {
    return std::all_of(problems_.list().begin() + static_cast<std::ptrdiff_t>(before),
                       problems_.list().end(),
                       [](const Problem& p) { return p.message == "is not a known key"; });
  }

  void check_link_events() {
    if (!has_cluster_) return;
    for (std::size_t i = 0; i < scenario_.cluster.link_events.size(); ++i)
      if (const int node = scenario_.cluster.link_events[i].node;
          node < 0 || node >= scenario_.cluster.nodes())
        problem(fmt::format("/cluster/link_events/{}/node", i),
                fmt::format("node {} does not exist; nodes are 0 to {}", node,
                            scenario_.cluster.nodes() - 1));
  }

  LayeredDocument& document_;
  Json user_, merged_;
  const std::string& file_;
  Problems problems_;
  Scenario scenario_;
  bool can_read_cluster_ = false, can_read_model_ = false, can_read_strategy_ = false,
       can_read_storage_ = false, has_cluster_ = false;
};
}  // namespace

Scenario assemble(LayeredDocument& document, Json user, const std::string& file,
                  Problems& problems) {
  return Assembly(document, std::move(user), file).run(problems);
}
}  // namespace stepcast
