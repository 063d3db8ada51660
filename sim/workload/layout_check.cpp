#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "sim/workload/model_blocks.hpp"
#include "sim/workload/parallel_layout.hpp"
#include "sim/workload/size_check.hpp"

namespace stepcast {
namespace {
constexpr int kMostRanks = 1 << 24;
/// Forwards of a step over all stages and chunks. Published runs accumulate some thousand
/// micro-batches at most; four million take half a minute and some GiB here, and beyond it a
/// mistyped batch would take the machine down.
constexpr std::int64_t kMostPasses = 1 << 22;

/// "try 1, 2, 4": the divisors of `total` nearest to `wanted`, at most three, ascending.
std::string near_divisors(std::int64_t total, std::int64_t wanted) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t i = 1; i * i <= total; ++i) {
    if (total % i != 0) continue;
    divisors.push_back(i);
    if (i != total / i) divisors.push_back(total / i);
  }
  const auto distance = [&](std::int64_t d) { return std::abs(d - wanted); };
  std::sort(divisors.begin(), divisors.end(),
            [&](auto a, auto b) { return std::pair(distance(a), a) < std::pair(distance(b), b); });
  divisors.resize(std::min<std::size_t>(divisors.size(), 3));
  std::sort(divisors.begin(), divisors.end());
  std::vector<std::string> texts;
  for (const std::int64_t divisor : divisors) texts.push_back(std::to_string(divisor));
  return "try " + joined(texts);
}

struct Check {
  const ParallelLayout& layout;
  const ModelSpec& model;
  const TrainingSpec& training;
  const std::string& file;
  Problems& problems;

  void fault(const char* place, std::string message, std::string hint = "") {
    problems.add({file, place, std::move(message), std::move(hint)});
  }
  void must_divide(const char* place, std::int64_t divisor, std::int64_t total,
                   const std::string& what) {
    if (total % divisor != 0)
      fault(place, fmt::format("{} does not divide {} ({})", divisor, what, total),
            near_divisors(total, divisor));
  }

  void world(int ranks) {
    const std::int64_t product = std::int64_t{layout.tp} * layout.pp * layout.cp * layout.dp;
    if (ranks == 0 || product == ranks) return;
    const std::int64_t replica = std::int64_t{layout.tp} * layout.pp * layout.cp;
    std::string hint = ranks % replica == 0
                           ? fmt::format("try dp {}", ranks / replica)
                           : fmt::format("tp x pp x cp = {} does not divide {}; {} for it", replica,
                                         ranks, near_divisors(ranks, replica));
    fault("/parallel",
          fmt::format("tp {} x pp {} x cp {} x dp {} = {} ranks, the cluster has {}", layout.tp,
                      layout.pp, layout.cp, layout.dp, product, ranks),
          std::move(hint));
  }
  /// Beyond it counts would leave 32 bits, and nothing else is worth saying.
  bool is_countable() {
    const double product = 1.0 * layout.tp * layout.pp * layout.cp * layout.dp;
    if (product <= kMostRanks) return true;
    fault("/parallel", fmt::format("tp {} x pp {} x cp {} x dp {} is more than {} ranks", layout.tp,
                                   layout.pp, layout.cp, layout.dp, kMostRanks));
    return false;
  }

  void batch() {
    const std::int64_t per_round = std::int64_t{layout.dp} * training.micro_batch;
    if (training.global_batch % per_round != 0) {
      const std::int64_t below = training.global_batch / per_round * per_round;
      fault("/training/global_batch",
            fmt::format("{} is not a multiple of dp x micro_batch ({} x {})", training.global_batch,
                        layout.dp, training.micro_batch),
            below > 0 ? fmt::format("try {} or {}", below, below + per_round)
                      : fmt::format("try {}", per_round));
    }
    const std::int64_t micro_batches = training.global_batch / per_round;
    if (const std::int64_t chunks = std::int64_t{layout.pp} * layout.virtual_stages;
        micro_batches > kMostPasses / chunks)
      fault("/training/global_batch",
            fmt::format("{} is {} micro-batches on each replica; a step of more than {} passes is "
                        "not simulated",
                        training.global_batch, micro_batches, kMostPasses),
            fmt::format("try {}, or a larger micro_batch or dp", kMostPasses / chunks * per_round));
    if (layout.schedule == ScheduleKind::interleaved && layout.pp > 1 &&
        micro_batches % layout.pp != 0)
      fault("/parallel/schedule",
            fmt::format("interleaved needs micro-batches per pipeline ({}) in multiples of pp ({})",
                        micro_batches, layout.pp),
            fmt::format("try global_batch {}",
                        (micro_batches / layout.pp + 1) * layout.pp * per_round));
  }

  /// Chunks that may go without a block: the first has the embedding and the last the head to run.
  /// Llama 3 405B trained its 126 layers so on 128 chunks (arXiv:2407.21783, section 3.3.2).
  std::int64_t spare_chunks() const {
    return model.kind == ModelKind::transformer || model.kind == ModelKind::moe ? 2 : 0;
  }

  void pipeline() {
    const std::int64_t blocks = block_count(model),
                       chunks = std::int64_t{layout.pp} * layout.virtual_stages;
    if (layout.virtual_stages > 1 && layout.schedule != ScheduleKind::interleaved)
      fault("/parallel/virtual_stages",
            fmt::format("{} needs schedule \"interleaved\", found \"{}\"", layout.virtual_stages,
                        text_of(layout.schedule)),
            "try virtual_stages 1 or schedule \"interleaved\"");
    if (layout.virtual_stages > 1 && layout.pp == 1)
      fault("/parallel/virtual_stages",
            fmt::format("{} needs a pipeline, found pp 1", layout.virtual_stages),
            "try virtual_stages 1");
    if (layout.schedule == ScheduleKind::interleaved && layout.virtual_stages == 1 && layout.pp > 1)
      fault("/parallel/virtual_stages", "is 1, the interleaved schedule needs 2 or more",
            "try virtual_stages 2 or schedule \"1f1b\"");
    if (model.kind == ModelKind::dlrm && layout.pp > 1)
      fault("/parallel/pp", fmt::format("{}: a dlrm is not cut into pipeline stages", layout.pp),
            "try 1");
    else if (chunks > blocks + spare_chunks() && layout.layers_per_stage.empty())
      fault("/parallel/pp",
            fmt::format("{} x virtual_stages {} is more than the {} layers", layout.pp,
                        layout.virtual_stages, blocks),
            fmt::format("try pp {} or less",
                        std::max<std::int64_t>(blocks / layout.virtual_stages, 1)));
    if (layout.layers_per_stage.empty()) return;
    if (static_cast<std::int64_t>(layout.layers_per_stage.size()) != chunks) {
      fault("/parallel/layers_per_stage",
            fmt::format("has {} entries, expected pp x virtual_stages = {}",
                        layout.layers_per_stage.size(), chunks));
      return;
    }
    const std::int64_t sum = std::accumulate(layout.layers_per_stage.begin(),
                                             layout.layers_per_stage.end(), std::int64_t{0});
    if (sum != blocks)
      fault("/parallel/layers_per_stage",
            fmt::format("adds up to {}, the model has {} layers", sum, blocks));
  }

  void transformer() {
    const TransformerSpec& t = model.transformer;
    const int tp = layout.tp, cp = layout.cp;
    must_divide("/parallel/tp", tp, t.heads, "heads");
    if (!t.mla && t.kv_heads % tp != 0 && tp % t.kv_heads != 0 && t.heads % tp == 0)
      fault("/parallel/tp",
            fmt::format("{} neither divides kv_heads ({}) nor is a multiple of it", tp, t.kv_heads),
            near_divisors(t.kv_heads, tp));
    if (!t.moe || t.moe->first_dense_layers > 0 || t.moe->layer_interval > 1)
      must_divide("/parallel/tp", tp, t.ffn, "ffn");
    if (training.sequence_length < 2)
      fault("/training/sequence_length",
            fmt::format("{} is too short for a {}", training.sequence_length, text_of(model.kind)));
    if (t.max_positions > 0 && training.sequence_length > t.max_positions)
      fault("/training/sequence_length",
            fmt::format("{} is more than the model's {} learned positions",
                        training.sequence_length, t.max_positions),
            fmt::format("try {} or less, or raise /model/max_positions", t.max_positions));
    if (cp > 1) {
      // Zig-zag order deals two pieces of the sequence to each rank.
      const int pieces = layout.context == ContextKind::ring && t.causal ? 2 * cp : cp;
      must_divide("/parallel/cp", pieces, training.sequence_length,
                  layout.context == ContextKind::ring
                      ? "sequence_length, counting two pieces per rank,"
                      : "sequence_length");
      if (layout.context == ContextKind::all_to_all) {
        if (t.heads % tp == 0) must_divide("/parallel/cp", cp, t.heads / tp, "heads per tp rank");
        const std::int64_t kv = t.mla ? t.heads / tp : std::max<std::int64_t>(t.kv_heads / tp, 1);
        if (kv % cp != 0 && cp % kv != 0)
          fault("/parallel/cp",
                fmt::format("{} neither divides kv_heads per tp rank ({}) nor is a multiple of it",
                            cp, kv),
                near_divisors(kv, cp));
      }
    }
    if (layout.sequence_parallel && tp > 1 && training.sequence_length % cp == 0)
      must_divide("/parallel/tp", tp, training.sequence_length / cp,
                  "sequence_length per cp rank under sequence_parallel");
    experts();
  }

  void experts() {
    const int ranks = layout.tp * layout.cp * layout.dp;  // of one stage
    if (!model.transformer.moe) {
      if (layout.ep > 1)
        fault("/parallel/ep", fmt::format("{}: the model has no experts", layout.ep), "try 1");
      if (layout.expert_tp > 1)
        fault("/parallel/expert_tp", fmt::format("{}: the model has no experts", layout.expert_tp),
              "try 1");
      return;
    }
    const MixtureSpec& moe = *model.transformer.moe;
    must_divide("/parallel/ep", layout.ep, moe.experts, "experts");
    if (layout.tp > 1 && !layout.sequence_parallel)  // else every tp rank would route all tokens
                                                     // (Megatron-LM refuses it too)
      fault("/parallel/sequence_parallel",
            fmt::format("is false; experts with tp {} need it", layout.tp), "set it to true");
    if (layout.expert_tp != 1 && layout.expert_tp != layout.tp)
      fault("/parallel/expert_tp",
            fmt::format("{} is neither 1 nor tp ({})", layout.expert_tp, layout.tp),
            fmt::format("try 1 or {}", layout.tp));
    must_divide("/parallel/expert_tp", layout.expert_tp, moe.expert_ffn, "expert_ffn");
    if (moe.shared_experts > 0)
      must_divide("/parallel/tp", layout.tp, moe.shared_ffn, "shared_ffn");
    if (ranks % layout.expert_tp == 0)
      must_divide("/parallel/ep", layout.ep, ranks / layout.expert_tp,
                  "tp x cp x dp / expert_tp, the ranks of a stage,");
  }

  void not_split(const char* key, int size) {
    if (size > 1)
      fault(key,
            fmt::format("{}: a {} has nothing that {} splits", size, text_of(model.kind),
                        std::string_view(key).substr(10)),
            "try 1");
  }

  void sharding() {
    if (layout.shard_size == 0) return;
    if (layout.zero_stage == 0)
      fault("/parallel/shard_size",
            fmt::format("{} has no effect with zero_stage 0", layout.shard_size),
            "set zero_stage or leave it out");
    must_divide("/parallel/shard_size", layout.shard_size, std::int64_t{layout.dp} * layout.cp,
                "dp x cp");
  }

  void recompute() {
    if (training.recompute_layers == 0) return;
    int most = 0;
    for (int stage = 0; stage < layout.pp; ++stage) {
      int held = 0;
      for (int chunk = 0; chunk < layout.virtual_stages; ++chunk) {
        const LayerRange range = blocks_of(stage, chunk, block_count(model), layout);
        held += range.last - range.first;
      }
      most = std::max(most, held);
    }
    if (training.recompute_layers > most)
      fault("/training/recompute_layers",
            fmt::format("{} is more than the {} layers of the largest stage",
                        training.recompute_layers, most),
            fmt::format("try {} or less; 0 recomputes all", most));
  }
};
}  // namespace

void check_layout(const ParallelLayout& layout, const ModelSpec& model,
                  const TrainingSpec& training, int world, const std::string& file,
                  Problems& problems) {
  Check check{layout, model, training, file, problems};
  if (layout.dp < 1) {
    check.fault("/parallel/dp", "is missing and no world size gives it",
                "state dp or a cluster with a number of nodes");
    return;
  }
  const std::size_t before = problems.size();
  if (!check.is_countable()) return;
  check.world(world);
  check_batch_size(model, training, file, problems);
  check.batch();
  check.pipeline();
  if (model.kind == ModelKind::transformer || model.kind == ModelKind::moe) {
    check.transformer();
  } else {
    check.not_split("/parallel/tp", layout.tp);
    check.not_split("/parallel/cp", layout.cp);
    check.not_split("/parallel/ep", layout.ep);
    check.not_split("/parallel/expert_tp", layout.expert_tp);
    if (training.recompute == Recompute::selective ||
        (training.recompute == Recompute::full && model.kind == ModelKind::dlrm))
      check.fault("/training/recompute",
                  fmt::format("\"{}\" has no effect on a {}", text_of(training.recompute),
                              text_of(model.kind)),
                  "try \"none\"");
  }
  check.sharding();
  if (problems.size() == before) check.recompute();
}
}  // namespace stepcast
