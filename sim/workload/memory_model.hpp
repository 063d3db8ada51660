#pragma once
#include <vector>

#include "sim/workload/model_work.hpp"

namespace stepcast {
/// Peak memory of one rank of a stage, by what holds it. Bytes.
struct StageMemory {
  double parameters = 0, gradients = 0, optimizer = 0, activations = 0, buffers = 0, total = 0;
  int stage = 0;
};
/// Bytes held by runtime and allocator beside the tensors (CUDA context, NCCL buffers,
/// fragmentation).
struct MemoryOverhead {
  double context_bytes = 0, fragmentation = 0;
  /// ZeRO-3: the shards are the fp32 parameters and become 16 bit as they are gathered, so no
  /// 16-bit shard is held beside.
  bool fp32_shards = false;
  int gathered_ahead = 1;       // ZeRO-3: layers that stand whole beside the one at work
  bool keeps_gathered = false;  // ZeRO-3 without resharding: after forward every layer stands whole
};
/// One entry per pipeline stage. `in_flight` micro-batches by schedule and stage: see
/// micro_batches_in_flight.
std::vector<StageMemory> memory_of(const ModelSpec& model, const ModelWork& work,
                                   const TrainingSpec& training, const ParallelLayout& layout,
                                   const MemoryOverhead& overhead);
/// Largest number of (micro-batch, chunk) activations alive at once on a stage: gpipe m; 1F1B
/// min(m, pp - stage); interleaved and zero-bubble as their schedules order them.
int micro_batches_in_flight(int stage, const ParallelLayout& layout, std::int64_t micro_batches);
}  // namespace stepcast
