#pragma once
#include "calibrate/kernels/kernel_tasks.hpp"

namespace stepcast::calibrate {
/// Every collective over sizes, isolated (a barrier before each) on the high-priority stream, in
/// place where the real step works in place; buffers rotate. Keys
/// "collective/<name>/<ranks>/<bytes>", S = the whole buffer as nccl-tests counts it. Empty for one
/// rank: a group of one moves nothing.
std::vector<Task> collective_tasks(Depth depth, int ranks);
/// Enqueues one on the bench's side stream, of `elements` in the whole buffer x. y, of the same
/// size, takes what an all-to-all delivers.
void run_collective(Bench& bench, Collective collective, runtime::View x, runtime::View y,
                    std::int64_t elements);
/// How much a product slows while an all-reduce runs beside it, and the reverse: "overlap/compute"
/// and "overlap/comm" hold the factors in place of seconds.
std::vector<Task> overlap_tasks(int ranks);
}  // namespace stepcast::calibrate
