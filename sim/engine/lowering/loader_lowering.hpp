#pragma once
#include "sim/data/loader_site.hpp"
#include "sim/engine/job.hpp"
#include "sim/engine/lowering/blocks.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
/// Who loads samples in a lowered job: the workers of the first stage and, for the targets, of the
/// last. A worker has a loader process per rank that does not get its samples from a
/// tensor-parallel peer, on that rank's node. Numbers the workers' `loader`; `blocks_of_workers`
/// are the blocks they stand for.
LoaderSite loader_site(const Scenario& scenario, const Placement& placement,
                       const std::vector<const Block*>& blocks_of_workers, Job& job);
}  // namespace stepcast
