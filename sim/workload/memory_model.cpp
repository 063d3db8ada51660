#include "sim/workload/memory_model.hpp"

#include <algorithm>
#include <set>

namespace stepcast {
namespace {
double d(std::int64_t value) { return static_cast<double>(value); }

/// Bytes per element that the optimizer keeps beside parameter and gradient, fp32: moments, and the
/// master copy.
double optimizer_bytes(const TrainingSpec& training) {
  const double moments = training.optimizer == OptimizerKind::sgd ? 4 : 8;
  return moments + (training.master_weights ? 4 : 0);
}

/// ZeRO-2 in a pipeline accumulates whole gradients and scatters them after the last micro-batch
/// (as the step graph does), so nothing of them is saved; ZeRO-3 scatters every micro-batch.
bool shards_gradients(const ParallelLayout& layout) {
  return layout.zero_stage == 3 || (layout.zero_stage == 2 && layout.pp == 1);
}

/// Forwards of (micro-batch, chunk) before the first backward, in order: rounds of pp micro-batches
/// through each chunk. Source: Narayanan 2021 (SC21) figure 4; Megatron-LM
/// forward_backward_pipelining_with_interleaving.
int chunk_of_forward(int k, const ParallelLayout& layout) {
  return k / layout.pp % layout.virtual_stages;
}

struct StageSum {
  const ModelWork& work;
  const ParallelLayout& layout;
  int stage, blocks;

  std::vector<int> kinds_of(int chunk) const {
    std::vector<int> kinds;
    const LayerRange range = blocks_of(stage, chunk, blocks, layout);
    if (stage == 0 && chunk == 0) kinds = work.before;
    for (int block = range.first; block < range.last; ++block)
      kinds.push_back(work.blocks[static_cast<std::size_t>(block)]);
    if (stage == layout.pp - 1 && chunk == layout.virtual_stages - 1)
      kinds.insert(kinds.end(), work.after.begin(), work.after.end());
    return kinds;
  }
  template <class Visit>
  void each(int chunk, Visit visit) const {
    for (const int kind : kinds_of(chunk)) visit(work.kinds[static_cast<std::size_t>(kind)]);
  }
};
/// Weight gradients in storage precision, on their way into the accumulated ones. Transformer
/// Engine keeps one buffer for every weight shape (get_dummy_wgrad), so each kind of layer counts
/// once; other frameworks free them, so the largest counts.
double weight_gradients(const StageSum& sum, bool is_cached) {
  std::set<int> kinds;
  for (int chunk = 0; chunk < sum.layout.virtual_stages; ++chunk)
    for (const int kind : sum.kinds_of(chunk)) kinds.insert(kind);
  double total = 0, largest = 0;
  for (const int kind : kinds) {
    const double bytes = d(sum.work.kinds[static_cast<std::size_t>(kind)].weight_gradient.value);
    total += bytes;
    largest = std::max(largest, bytes);
  }
  return is_cached ? total : largest;
}
}  // namespace

int micro_batches_in_flight(int stage, const ParallelLayout& layout, std::int64_t micro_batches) {
  const std::int64_t m = micro_batches, behind = layout.pp - stage;
  std::int64_t held = m;
  switch (layout.schedule) {
    case ScheduleKind::gpipe:
      break;
    case ScheduleKind::one_f_one_b:
      held = std::min(m, behind);
      break;
    case ScheduleKind::interleaved:
      // Warm-up of 2(pp - stage - 1) + (v - 1) pp forwards, and the one that meets the first
      // backward.
      held = layout.virtual_stages == 1
                 ? std::min(m, behind)
                 : std::min(
                       m * layout.virtual_stages,
                       2 * (behind - 1) + std::int64_t{layout.virtual_stages - 1} * layout.pp + 1);
      break;
    case ScheduleKind::zero_bubble:
      // ZB-H1 delays weight gradients until stage 0's peak of 1F1B is reached on every stage (Qi
      // 2023, section 3).
      held = std::min<std::int64_t>(m, layout.pp);
      break;
  }
  return static_cast<int>(held);
}

std::vector<StageMemory> memory_of(const ModelSpec&, const ModelWork& work,
                                   const TrainingSpec& training, const ParallelLayout& layout,
                                   const MemoryOverhead& overhead) {
  const double e =
      bytes_per_element(training.precision) == 4 ? 4 : 2;  // 8-bit training holds 16-bit parameters
  const double g = d(bytes_per_element(training.gradient_precision)), o = optimizer_bytes(training);
  const int dense_group = group_size(GroupKind::dp, layout),
            expert_group = group_size(GroupKind::edp, layout);
  const double dense_shards =
      layout.shard_size > 0 ? std::min(layout.shard_size, dense_group) : dense_group;
  const double expert_shards =
      layout.shard_size > 0 ? std::min(layout.shard_size, expert_group) : expert_group;
  const std::int64_t micro_batches = micro_batch_count(layout, training);

  std::vector<StageMemory> stages;
  for (int stage = 0; stage < layout.pp; ++stage) {
    const StageSum sum{work, layout, stage, static_cast<int>(work.blocks.size())};
    StageMemory memory;
    memory.stage = stage;
    double dense = 0, experts = 0, local = 0, widest_layer = 0, message = 0;
    double working_after = 0, working = 0, kept_after = 0;  // after: head and loss
    for (int chunk = 0; chunk < layout.virtual_stages; ++chunk) {
      sum.each(chunk, [&](const LayerWork& layer) {
        dense += d(layer.dense_parameters);
        experts += d(layer.expert_parameters);
        local += d(layer.local_parameters);
        widest_layer = std::max(widest_layer, d(layer.dense_parameters + layer.expert_parameters));
        message = std::max(message, d(layer.output.value));
      });
    }
    const auto sharded = [&](bool is_sharded, double bytes) {
      return is_sharded ? bytes * (dense / dense_shards + experts / expert_shards)
                        : bytes * (dense + experts);
    };
    // fp32 shards are the master copy as well.
    const bool is_own_master =
        layout.zero_stage >= 3 && overhead.fp32_shards && training.master_weights;
    memory.parameters = sharded(layout.zero_stage >= 3, is_own_master ? 4 : e) + local * 4;
    memory.gradients = sharded(shards_gradients(layout), g);
    memory.optimizer = sharded(layout.zero_stage >= 1, is_own_master ? o - 4 : o);

    const int in_flight = micro_batches_in_flight(stage, layout, micro_batches);
    for (int k = 0; k < in_flight; ++k)
      sum.each(chunk_of_forward(k, layout),
               [&](const LayerWork& layer) { memory.activations += d(layer.activation.value); });
    for (int chunk = 0; chunk < layout.virtual_stages; ++chunk)
      for (const int kind : sum.kinds_of(chunk)) {
        const LayerWork& layer = work.kinds[static_cast<std::size_t>(kind)];
        const bool is_after =
            std::find(work.after.begin(), work.after.end(), kind) != work.after.end();
        (is_after ? working_after : working) =
            std::max(is_after ? working_after : working, d(layer.working.value));
        if (is_after) kept_after += d(layer.activation.value);
      }
    // The peak lies in the loss, or in a block's backward, when the loss has let go of its logits.
    memory.activations += std::max(working_after, working - kept_after);

    // FSDP: the layer at work and those gathered ahead stand whole, or all that the stage holds;
    // and one layer's gradient before it is scattered.
    if (layout.zero_stage >= 3 && dense_shards > 1) {
      const double held = dense + experts;
      memory.buffers += e * (overhead.keeps_gathered
                                 ? held
                                 : std::min((1 + overhead.gathered_ahead) * widest_layer, held));
    }
    if (shards_gradients(layout) && dense_shards > 1)
      memory.buffers += widest_layer * g;
    else
      memory.buffers += weight_gradients(sum, training.fusion == Fusion::fused);
    if (layout.pp > 1) memory.buffers += 2 * message;  // one message coming in, one going out
    memory.buffers += overhead.context_bytes;
    memory.total = memory.parameters + memory.gradients + memory.optimizer + memory.activations +
                   memory.buffers;
    memory.buffers += overhead.fragmentation * memory.total;
    memory.total *= 1 + overhead.fragmentation;
    stages.push_back(memory);
  }
  return stages;
}
}  // namespace stepcast
