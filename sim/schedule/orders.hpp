#pragma once
#include "sim/schedule/schedule.hpp"

/// The schedules, one per file; `registry.cpp` picks. All take a stage in [0, pp) and at least one
/// micro-batch.
namespace stepcast::orders {
std::vector<Work> gpipe(int stage, int pp, int micro_batches);
std::vector<Work> one_f_one_b(int stage, int pp, int micro_batches);
std::vector<Work> interleaved(int stage, int pp, int micro_batches, int virtual_stages);
std::vector<Work> zero_bubble(int stage, int pp, int micro_batches);
}  // namespace stepcast::orders
