#pragma once

#include <numeric>

#include "sim/engine/step_executor.hpp"
#include "tests/support/job_builder.hpp"
#include "tests/support/test.hpp"

namespace stepcast::tests {
inline constexpr auto after = ProgramBuilder::after;
inline Approx near(double value) { return Approx(value).epsilon(1e-12).margin(1e-12); }

/// Runs the job's one step and holds the accounting to account: categories of every worker sum to
/// it.
inline StepOutcome run(const Job& job, EngineKind kind, const ExecuteOptions& options = {}) {
  const auto network = make_network(kind);
  StepOutcome outcome = execute_step(job, *network, options);
  for (const Breakdown& breakdown : outcome.per_worker)
    REQUIRE(std::accumulate(breakdown.begin(), breakdown.end(), 0.0) ==
            Approx(outcome.step_s).epsilon(1e-9));
  return outcome;
}
inline EngineKind any_engine() {
  return GENERATE(EngineKind::native, EngineKind::simgrid, EngineKind::analytic);
}

/// Two replicas that compute `seconds` and reduce 20 bytes per edge over links of 10 B/s of their
/// own.
inline Job two_replicas(double seconds) {
  Job job;
  ProgramBuilder program(job.names);
  program.work("backward", seconds);
  program.collective(20, 0.5, {after(Lane::compute, 0)});
  job.programs.push_back(program.program);
  add_worker(job, 0, 0, 0);
  add_worker(job, 0, 0, 1);
  const LinkId a = add_link(job, 10), b = add_link(job, 10);
  add_group(job, {0, 1}, {{a}, {b}});
  return job;
}
}  // namespace stepcast::tests
