#pragma once
#include "sim/engine/lowering/program_lowering.hpp"

namespace stepcast {
/// A job and what calibration says about the numbers in it, per program.
struct Lowered {
  Job job;
  std::vector<Doubts> doubts;  // by program
};
Lowered lower_with_doubts(const Scenario& scenario, const StepGraph& graph, const Profile& profile);
}  // namespace stepcast
