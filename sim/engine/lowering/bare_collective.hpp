#pragma once
#include "sim/engine/job.hpp"
#include "sim/engine/lowering/process_groups.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
/// A job of one collective over all ranks of `group`, which start together as in nccl-tests: one
/// worker that holds the whole group, one persistent flow per edge.
Job bare_collective_job(const ProcessGroup& group, const CollectiveTerms& terms,
                        Collective collective, Bytes size, const Scenario& scenario,
                        const Topology& topology);

/// The same ring as explicit rounds: every node sends a chunk to the next, and passes on in round r
/// + 1 what it received in round r. A check of the persistent flows, for rings of a few hundred
/// nodes at most.
Job message_ring_job(const ProcessGroup& group, const CollectiveTerms& terms, Collective collective,
                     const Scenario& scenario, const Topology& topology);
}  // namespace stepcast
