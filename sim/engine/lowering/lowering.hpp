#pragma once
#include "sim/data/loader_site.hpp"
#include "sim/engine/lowering/program_lowering.hpp"
#include "sim/engine/lowering/stragglers.hpp"

namespace stepcast {
/// A job and what calibration says about the numbers in it, per program.
struct Lowered {
  Job job;
  std::vector<Doubts> doubts;  // by program
  LoaderSite loaders;          // without consumers where the scenario has no data
};
/// `exempt`: what of the scenario's stragglers is taken out.
Lowered lower_with_doubts(const Scenario& scenario, const StepGraph& graph, const Profile& profile,
                          const Exemptions& exempt = {});
}  // namespace stepcast
