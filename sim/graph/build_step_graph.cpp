#include "sim/graph/stage_programs.hpp"

namespace stepcast {
StepGraph build_step_graph(const Scenario& scenario, const ModelWork& work,
                           const BucketPlan* plan) {
  StepGraph graph;
  for (int stage = 0; stage < scenario.parallel.pp; ++stage) {
    const StageContext context(scenario, work, stage, plan);
    graph.stages.push_back(scenario.parallel.zero_stage == 3 ? sharded_program(context)
                                                             : replicated_program(context));
  }
  return graph;
}
}  // namespace stepcast
