#include <algorithm>

#include "sim/core/assert.hpp"
#include "sim/engine/lowering/bare_collective.hpp"
#include "sim/engine/simulate.hpp"

namespace stepcast {

std::vector<SweepPoint> simulate_collectives(const Scenario& scenario, const Profile& profile,
                                             EngineKind engine) {
  STEPCAST_ASSERT(scenario.collective_sweep.has_value(),
                  "the caller checked that the scenario is a collective sweep");
  const CollectiveSweep& sweep = *scenario.collective_sweep;
  const std::unique_ptr<Topology> topology = make_topology(scenario.cluster);
  // One rank sends to one other: between nodes that is one GPU of each, on its own NIC, whatever
  // the others do.
  const bool is_pair = sweep.collective == Collective::send_recv && scenario.cluster.nodes() > 1;
  const int most = is_pair ? 1 : sweep.gpus_per_node;
  Placement placement;
  std::vector<int> ranks;
  for (int node : placed_nodes(scenario.cluster, scenario.run.seed)) {
    const int gpus = scenario.cluster.node(node).gpus;
    for (int gpu = 0; gpu < (most > 0 ? std::min(most, gpus) : gpus); ++gpu) {
      ranks.push_back(static_cast<int>(placement.node.size()));
      placement.node.push_back(node);
    }
  }
  ProcessGroup group;
  group.kind = GroupKind::world;
  add_sibling(
      group, ranks, placement,
      sweep.collective == Collective::all_to_all ? EdgePattern::all_pairs : EdgePattern::ring,
      *topology, scenario.run.seed);
  const CollectiveModel model(profile.collectives, scenario.cluster.groups.front().spec,
                              scenario.cluster.fabric, scenario.strategy.collective_algorithm);
  std::vector<SweepPoint> points;
  for (Bytes size : sweep.sizes) {
    const CollectiveTerms terms = model.terms(sweep.collective, size, group.shape);
    const bool is_ring = terms.pattern == CollectiveTerms::Pattern::ring && !group.edges.empty();
    const Job job =
        scenario.run.message_level_rings && is_ring
            ? message_ring_job(group, terms, sweep.collective, scenario, *topology)
            : bare_collective_job(group, terms, sweep.collective, size, scenario, *topology);
    const std::unique_ptr<Network> network = make_network(engine);
    SweepPoint point{size, execute_step(job, *network).step_s, 0, 0, terms.relative_sigma};
    if (point.time_s > 0) point.algbw = static_cast<double>(size.value) / point.time_s;
    point.busbw = point.algbw * bus_factor(sweep.collective, group.shape.ranks);
    points.push_back(point);
  }
  return points;
}
}  // namespace stepcast
