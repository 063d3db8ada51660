#pragma once
#include <vector>

#include "sim/timeline/timeline.hpp"
#include "sim/workload/memory_model.hpp"
#include "sim/workload/parallel_layout.hpp"

namespace stepcast {
/// What each rank of a simulated step holds over time, in bytes, from the spans of its passes:
/// activations grow with the forward work that is done and shrink with the backward work, between
/// nothing and the stage's peak; parameters, gradients, optimizer and buffers stand the whole step.
/// Changes of less than a sixteenth of the peak's activations wait for the next sample.
void add_memory_counters(const ParallelLayout& layout, const std::vector<StageMemory>& stages,
                         Timeline& timeline);
}  // namespace stepcast
