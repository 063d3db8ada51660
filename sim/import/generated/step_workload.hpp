#pragma once
#include "sim/engine/step_executor.hpp"
#include "sim/import/replay/workload_file.hpp"
#include "sim/profile/profile.hpp"

namespace stepcast {
/// A simulated step as a workload: one rank a worker (a lockstep block, or the replicas that fold
/// into it), one lane a queue of its program and one for its host thread.
///
/// Collectives and messages last as long as in the simulated step once everyone had come, so its
/// contention is in them. Passes are taken apart into their kinds of op (pass_writer.hpp).
/// `outcome` holds op times (ExecuteOptions::record_op_times) of this very job. Replayed unchanged
/// it takes outcome.step_s, up to the picoseconds that the file rounds each op to.
Workload workload_of_step(const Job& job, const StepOutcome& outcome, const Profile& profile,
                          EngineKind engine);
}  // namespace stepcast
