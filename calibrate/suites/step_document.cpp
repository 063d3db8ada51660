#include "calibrate/suites/step_document.hpp"

#include "sim/cluster/gpu_catalogue.hpp"
#include "sim/collective/single_node_curve.hpp"
#include "sim/io/json.hpp"

namespace stepcast::calibrate {

namespace {
/// A model of its own size and how it trains; batches are per rank.
struct StepChoice {
  const char* name;
  Json model;
  int batch, sequence_length;
  const char* optimizer;
};
std::vector<StepChoice> step_choices() {
  return {
      // Small enough for a laptop's minute, large enough that products dominate and that a step has
      // several buckets of 1 MiB.
      {"gpt",
       {{"kind", "transformer"},
        {"layers", 4},
        {"hidden", 256},
        {"heads", 8},
        {"ffn", 1024},
        {"vocab", 1024},
        {"max_positions", 128},
        {"rope", false},
        {"dropout", false}},
       4,
       128,
       "adam"},
      {"resnet50", Json::object({{"preset", "resnet-50"}}), 4, 1, "sgd"},
      {"resnet-small",
       {{"kind", "cnn"},
        {"image", 32},
        {"classes", 10},
        {"layers",
         {{{"name", "stem"}, {"channels", 32}, {"kernel", 3}},
          {{"block", "basic"}, {"name", "stage1"}, {"channels", 32}},
          {{"block", "basic"}, {"name", "stage2"}, {"channels", 64}, {"stride", 2}},
          {{"block", "bottleneck"}, {"name", "stage3"}, {"channels", 256}, {"stride", 2}}}}},
       16,
       1,
       "sgd"},
      {"dlrm",
       {{"kind", "dlrm"},
        {"tables", 8},
        {"rows_per_table", 20000},
        {"embedding_dim", 32},
        {"dense_features", 13},
        {"pooling", 1},
        {"bottom_mlp", {256, 128, 32}},
        {"top_mlp", {512, 256, 1}}},
       256,
       1,
       "adam"},
  };
}
Json document_of(const StepChoice& choice, int ranks) {
  Json document{{"stepcast", 1},
                {"description", "The step that a calibration measures and forecasts"},
                {"model", choice.model},
                {"training",
                 {{"global_batch", choice.batch * ranks},
                  {"micro_batch", choice.batch},
                  {"sequence_length", choice.sequence_length},
                  {"precision", "fp32"},
                  {"optimizer", choice.optimizer}}},
                {"parallel", {{"dp", ranks}}},
                {"strategy", {{"preset", "stepcast-runtime"}, {"bucket_MiB", 1}}}};
  return document;
}
}  // namespace

std::vector<std::string> step_names() {
  std::vector<std::string> names;
  for (const StepChoice& choice : step_choices()) names.emplace_back(choice.name);
  return names;
}

Json step_document(const std::string& file, const std::string& model,
                   const std::vector<std::string>& settings, int ranks) {
  Json document;
  if (!file.empty()) {
    document = read_json_file(file).value_or_throw();
  } else {
    for (const StepChoice& choice : step_choices())
      if (model == choice.name) document = document_of(choice, ranks);
    if (document.empty()) {
      const std::string near = nearest_name(model, step_names());
      throw InputError(Problem{"command line", "--model",
                               "\"" + model + "\" is not one of " + joined(step_names()),
                               near.empty() ? "" : "did you mean \"" + near + "\"?"});
    }
  }
  for (const std::string& setting : settings) apply_setting(document, setting).value_or_throw();
  Profile unknown;
  unknown.gpu.name = "this-machine";
  unknown.gpu.peak_flops[0] = 1e11;
  unknown.gpu.memory_bandwidth = BytesPerSecond(1e10);
  unknown.gpu.memory = Bytes(std::int64_t{1} << 34);
  set_cluster(document, unknown, ranks);
  return document;
}

void set_cluster(Json& document, const Profile& profile, int ranks) {
  // Rate of the link between ranks: what the largest all-reduce moved per direction.
  double link_GBps = 1;
  for (const CollectiveCurve& curve : profile.collectives.curves)
    if (curve.collective == Collective::all_reduce && curve.ranks == ranks)
      link_GBps = static_cast<double>(curve.points.back().first.value) *
                  wire_share(curve.collective, ranks) / curve.points.back().second.value * 1e-9;
  document["cluster"] = {{"name", profile.gpu.name + "-machine"},
                         {"nodes", 1},
                         {"gpus_per_node", ranks},
                         {"gpu", json_of(profile.gpu)},
                         {"intra", ranks > 1 ? "pcie" : "single"},
                         {"gpu_link_GBps", std::max(1e-3, link_GBps)}};
}

Scenario scenario_of_step(const Json& document, const std::string& file) {
  // The profile of this step is what the calibration is about to make; reading a scenario wants one
  // that exists already.
  Json readable = document;
  if (const auto bundled = preset_names("profiles"); !bundled.empty())
    readable["profile"] = bundled.front();
  return scenario_of(readable, file.empty() ? "the calibration's step" : file).value_or_throw();
}
}  // namespace stepcast::calibrate
