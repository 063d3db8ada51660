#pragma once
#include "sim/scenario/scenario.hpp"

/// Private to sim/scenario: readers of the scenario's own objects (model, layout and cluster read
/// theirs).
namespace stepcast {
/// Reads "strategy" after its preset was merged in. `dp` ranks and the gradient element size give
/// the buckets that are stated in elements their bytes.
StrategySpec read_strategy(ObjectReader reader, int dp, std::int64_t gradient_element_bytes);
CompressionSpec read_compression(ObjectReader reader);
StragglerSpec read_straggler(ObjectReader reader, int world, int nodes);
MitigationSpec read_mitigation(ObjectReader reader);
SyncSpec read_sync(ObjectReader reader, int nodes);
RunSpec read_run(ObjectReader reader);
ConvergenceSpec read_converge(ObjectReader reader);
CollectiveSweep read_collective_sweep(ObjectReader reader, int gpus_per_node);
}  // namespace stepcast
