#include <algorithm>

#include "sim/core/assert.hpp"
#include "sim/core/random.hpp"
#include "sim/engine/lowering/link_book.hpp"
#include "sim/engine/lowering/process_groups.hpp"
#include "sim/engine/simulate.hpp"

namespace stepcast {
namespace {

/// All ranks of a bare collective, as one worker whose group has every edge: they start together, as in nccl-tests.
Job bare_job(const ProcessGroup& group, const CollectiveTerms& terms, Bytes size, const Scenario& scenario, const Topology& topology) {
  Job job;
  job.seed = scenario.run.seed;
  job.link_events = scenario.cluster.link_events;
  Program program;
  program.transfers.push_back({terms, GroupKind::world, static_cast<double>(size.value)});
  ProgramOp op;
  op.kind = GraphOp::Kind::collective;
  op.lane = Lane::gradient;
  op.category = Category::exposed_dp;
  op.name = job.names.id_of(std::string(text_of(scenario.collective_sweep->collective)));
  program.lanes[static_cast<std::size_t>(Lane::gradient)].push_back(op);
  job.programs.push_back(std::move(program));
  Worker worker;
  worker.ranks = group.shape.ranks;
  worker.group.fill(-1);
  worker.group[static_cast<std::size_t>(GroupKind::world)] = 0;
  worker.node = group.gpus_on_node.begin()->first;
  job.workers.push_back(worker);

  LinkBook links(topology, scenario.cluster);
  Group out{GroupKind::world, {0}, {}};
  for (const auto& [ends, weight] : group.edges) {
    Edge edge{{}, weight};
    const auto [a, b] = ends;
    links.append_cap("node" + std::to_string(a) + ".tx share", a, group.gpus_on_node.at(a), edge.route);
    links.append_route(a, b, mixed_bits(mixed_bits(scenario.run.seed, static_cast<std::uint64_t>(a)), static_cast<std::uint64_t>(b)), false, edge.route);
    links.append_cap("node" + std::to_string(b) + ".rx share", b, group.gpus_on_node.at(b), edge.route);
    out.edges.push_back(std::move(edge));
  }
  job.groups.push_back(std::move(out));
  links.hand_over(job);
  return job;
}
}  // namespace

std::vector<SweepPoint> simulate_collectives(const Scenario& scenario, const Profile& profile, EngineKind engine) {
  STEPCAST_ASSERT(scenario.collective_sweep.has_value(), "the caller checked that the scenario is a collective sweep");
  const CollectiveSweep& sweep = *scenario.collective_sweep;
  const std::unique_ptr<Topology> topology = make_topology(scenario.cluster);
  Placement placement;
  std::vector<int> ranks;
  for (int node : placed_nodes(scenario.cluster, scenario.run.seed)) {
    const int gpus = scenario.cluster.node(node).gpus;
    for (int gpu = 0; gpu < (sweep.gpus_per_node > 0 ? std::min(sweep.gpus_per_node, gpus) : gpus); ++gpu) {
      ranks.push_back(static_cast<int>(placement.node.size()));
      placement.node.push_back(node);
    }
  }
  ProcessGroup group;
  group.kind = GroupKind::world;
  add_sibling(group, ranks, placement, sweep.collective == Collective::all_to_all ? EdgePattern::all_pairs : EdgePattern::ring,
              *topology, scenario.run.seed);
  const CollectiveModel model(profile.collectives, scenario.cluster.groups.front().spec, scenario.cluster.fabric,
                              scenario.strategy.collective_algorithm);
  std::vector<SweepPoint> points;
  for (Bytes size : sweep.sizes) {
    const CollectiveTerms terms = model.terms(sweep.collective, size, group.shape);
    const std::unique_ptr<Network> network = make_network(engine);
    const StepOutcome outcome = execute_step(bare_job(group, terms, size, scenario, *topology), *network);
    SweepPoint point{size, outcome.step_s, 0, 0};
    if (point.time_s > 0) point.algbw = static_cast<double>(size.value) / point.time_s;
    point.busbw = point.algbw * bus_factor(sweep.collective, group.shape.ranks);
    points.push_back(point);
  }
  return points;
}
}  // namespace stepcast
