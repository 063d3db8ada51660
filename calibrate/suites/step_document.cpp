#include "calibrate/suites/step_document.hpp"

#include "sim/cluster/gpu_catalogue.hpp"
#include "sim/collective/single_node_curve.hpp"
#include "sim/io/json.hpp"

namespace stepcast::calibrate {

Json step_document(const std::string& file, const std::vector<std::string>& settings, int ranks) {
  Json document;
  if (!file.empty()) {
    document = read_json_file(file).value_or_throw();
  } else {
    // Small enough for a laptop's minute, large enough that products dominate and that a step has
    // several buckets of 1 MiB.
    document = {{"stepcast", 1},
                {"description", "The step that a calibration measures and forecasts"},
                {"model",
                 {{"kind", "transformer"},
                  {"layers", 4},
                  {"hidden", 256},
                  {"heads", 8},
                  {"ffn", 1024},
                  {"vocab", 1024},
                  {"max_positions", 128},
                  {"rope", false},
                  {"dropout", false}}},
                {"training",
                 {{"global_batch", 4 * ranks},
                  {"micro_batch", 4},
                  {"sequence_length", 128},
                  {"precision", "fp32"}}},
                {"parallel", {{"dp", ranks}}},
                {"strategy", {{"preset", "stepcast-runtime"}, {"bucket_MiB", 1}}}};
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
