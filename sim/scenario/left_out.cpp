#include "sim/scenario/left_out.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace stepcast {
namespace {
bool computes(const GpuSpec& gpu, Precision precision) { return gpu.peak(precision).value > 0; }

/// bf16 unless a GPU of the cluster computes none.
void fill_precision(Json& training, Scenario& scenario) {
  const auto& groups = scenario.cluster.groups;
  const bool lacks_bf16 = std::any_of(groups.begin(), groups.end(), [](const NodeGroup& g) {
    return !computes(g.spec.gpu, Precision::bf16);
  });
  if (!lacks_bf16) return;
  training["precision"] = "fp16";
  scenario.notes.push_back(
      fmt::format("training.precision = fp16: {} computes no bf16", groups.front().spec.gpu.name));
}

void fill_sequence(Json& training, Scenario& scenario) {
  constexpr std::int64_t kUsualTokens = 4096;
  const bool has_tokens =
      scenario.model.kind == ModelKind::transformer || scenario.model.kind == ModelKind::moe;
  const std::int64_t positions = scenario.model.transformer.max_positions;
  const std::int64_t tokens = !has_tokens     ? 1
                              : positions > 0 ? std::min(positions, kUsualTokens)
                                              : kUsualTokens;
  training["sequence_length"] = tokens;
  scenario.notes.push_back(fmt::format("training.sequence_length = {} was not given", tokens));
}

void fill_batch(Json& training, Scenario& scenario) {
  const Json micro = training.value("micro_batch", Json(1));
  const std::int64_t micro_batch = micro.is_number_integer() && micro.get<std::int64_t>() > 0 &&
                                           micro.get<std::int64_t>() < (1 << 20)
                                       ? micro.get<std::int64_t>()
                                       : 1;
  // Four micro-batches per stage leave a bubble of about a fifth; without a pipeline one is enough.
  const std::int64_t micro_batches = scenario.parallel.pp > 1 ? 4 * scenario.parallel.pp : 1;
  const std::int64_t batch = micro_batch * micro_batches * scenario.parallel.dp;
  training["global_batch"] = batch;
  scenario.notes.push_back(fmt::format(
      "training.global_batch = {} was not given: {} micro-batches of {} on each of {} replicas",
      batch, micro_batches, micro_batch, scenario.parallel.dp));
}
}  // namespace

bool derive_dp(int world, Scenario& scenario, Problems& problems) {
  ParallelLayout& layout = scenario.parallel;
  if (layout.dp > 0) return true;
  const std::int64_t model_ranks = std::int64_t{layout.tp} * layout.pp * layout.cp;
  if (world == 0) {
    layout.dp = 1;
    return false;
  }
  layout.dp = static_cast<int>(std::max<std::int64_t>(1, world / model_ranks));
  if (world % model_ranks == 0) {
    scenario.notes.push_back(fmt::format("parallel.dp = {} from {} GPUs / (tp {} x pp {} x cp {})",
                                         layout.dp, world, layout.tp, layout.pp, layout.cp));
    return true;
  }
  problems.add(
      {scenario.file, "/parallel",
       fmt::format("tp x pp x cp = {} x {} x {} = {} does not divide the {} GPUs of the cluster",
                   layout.tp, layout.pp, layout.cp, model_ranks, world),
       fmt::format("{} GPUs would be used",
                   std::max<std::int64_t>(model_ranks, world - world % model_ranks))});
  return false;
}

void fill_training_defaults(Json& merged, Scenario& scenario, bool is_known, bool has_cluster) {
  if (merged.contains("training") && !merged["training"].is_object()) return;
  Json& training = merged["training"];
  if (training.is_null()) training = Json::object();
  if (!is_known) {
    for (const char* key : {"sequence_length", "global_batch"})
      if (!training.contains(key)) training[key] = 1;
    return;
  }
  if (has_cluster && !training.contains("precision")) fill_precision(training, scenario);
  if (!training.contains("sequence_length")) fill_sequence(training, scenario);
  if (!training.contains("global_batch")) fill_batch(training, scenario);
}

void check_precision(const Scenario& scenario, Problems& problems) {
  for (const NodeGroup& group : scenario.cluster.groups) {
    const GpuSpec& gpu = group.spec.gpu;
    if (computes(gpu, scenario.training.precision)) continue;
    std::vector<std::string> has;
    for (const std::string& text : enum_texts<Precision>())
      if (computes(gpu, *enum_from_text<Precision>(text))) has.push_back(text);
    problems.add(
        {scenario.file, "/training/precision",
         fmt::format("{} states no rate for {}", gpu.name, text_of(scenario.training.precision)),
         "it has " + joined(has)});
    return;
  }
}
}  // namespace stepcast
