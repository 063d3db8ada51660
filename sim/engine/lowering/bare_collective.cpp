#include "sim/engine/lowering/bare_collective.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/assert.hpp"
#include "sim/core/random.hpp"
#include "sim/engine/lowering/link_book.hpp"

namespace stepcast {
namespace {

Edge edge_between(const ProcessGroup& group, const NodePair& ends, double weight,
                  std::uint64_t seed, LinkBook& links) {
  const auto [a, b] = ends;
  Edge edge{{}, weight};
  const std::uint64_t hash =
      mixed_bits(mixed_bits(seed, static_cast<std::uint64_t>(a)), static_cast<std::uint64_t>(b));
  links.append_cap(fmt::format("node{}.tx share", a), a, group.gpus_on_node.at(a), edge.route);
  links.append_route(a, b, hash, false, edge.route);
  links.append_cap(fmt::format("node{}.rx share", b), b, group.gpus_on_node.at(b), edge.route);
  return edge;
}
}  // namespace

Job bare_collective_job(const ProcessGroup& group, const CollectiveTerms& terms,
                        Collective collective, Bytes size, const Scenario& scenario,
                        const Topology& topology) {
  Job job;
  job.seed = scenario.run.seed;
  job.link_events = scenario.cluster.link_events;
  Program program;
  program.transfers.push_back(
      {terms, GroupKind::world, static_cast<double>(size.value), collective, group.shape.ranks});
  ProgramOp op;
  op.kind = GraphOp::Kind::collective;
  op.lane = Lane::gradient;
  op.category = Category::exposed_dp;
  op.name = job.names.id_of(std::string(text_of(collective)));
  program.lanes[static_cast<std::size_t>(op.lane)].push_back(op);
  job.programs.push_back(std::move(program));
  Worker worker;
  worker.ranks = group.shape.ranks;
  worker.group.fill(-1);
  worker.group[static_cast<std::size_t>(GroupKind::world)] = 0;
  worker.node = group.gpus_on_node.begin()->first;
  job.workers.push_back(worker);
  LinkBook links(topology, scenario.cluster);
  Group out{GroupKind::world, {0}, {}};
  for (const auto& [ends, weight] : group.edges)
    out.edges.push_back(edge_between(group, ends, weight, scenario.run.seed, links));
  job.groups.push_back(std::move(out));
  links.hand_over(job);
  return job;
}

Job message_ring_job(const ProcessGroup& group, const CollectiveTerms& terms, Collective collective,
                     const Scenario& scenario, const Topology& topology) {
  STEPCAST_ASSERT(terms.pattern == CollectiveTerms::Pattern::ring,
                  "the caller asks for rounds of rings only");
  Job job;
  job.seed = scenario.run.seed;
  job.link_events = scenario.cluster.link_events;
  LinkBook links(topology, scenario.cluster);
  std::map<int, int> next;
  for (const auto& [ends, weight] : group.edges) next[ends.first] = ends.second;
  std::vector<int> ring{group.edges.begin()->first.first};
  while (ring.size() < next.size()) ring.push_back(next.at(ring.back()));
  const auto nodes = static_cast<int>(ring.size());
  const int rounds = (collective == Collective::all_reduce ? 2 : 1) * (nodes - 1);

  CollectiveTerms chunk = terms;
  chunk.pattern = CollectiveTerms::Pattern::pair;
  chunk.startup = terms.startup / static_cast<double>(rounds);
  chunk.intra = terms.intra / static_cast<double>(rounds);
  chunk.edge_bytes = terms.edge_bytes / rounds;
  chunk.payload_edge_bytes = terms.payload_edge_bytes / rounds;
  for (int i = 0; i < nodes; ++i) {
    const int after = (i + 1) % nodes, before = (i + nodes - 1) % nodes;
    Program program;
    program.transfers.push_back({chunk, GroupKind::world, chunk.payload_edge_bytes, collective});
    for (int round = 0; round < rounds; ++round) {
      ProgramOp send{.kind = GraphOp::Kind::send,
                     .lane = Lane::send,
                     .category = Category::exposed_dp,
                     .name = job.names.id_of("send"),
                     .peer_stage = after,
                     .tag = static_cast<std::uint32_t>(round)};
      if (round > 0) {
        send.first_dependency = static_cast<std::uint32_t>(program.dependencies.size());
        send.dependency_count = 1;
        program.dependencies.push_back({Lane::recv, static_cast<std::uint32_t>(round - 1)});
      }
      program.lanes[static_cast<std::size_t>(Lane::send)].push_back(send);
      program.lanes[static_cast<std::size_t>(Lane::recv)].push_back(
          {.kind = GraphOp::Kind::recv,
           .lane = Lane::recv,
           .category = Category::exposed_dp,
           .name = job.names.id_of("recv"),
           .peer_stage = before,
           .tag = static_cast<std::uint32_t>(round)});
    }
    Worker worker;
    worker.program = static_cast<std::uint32_t>(i);
    worker.stage = i;
    worker.first_rank = i;
    worker.node = ring[static_cast<std::size_t>(i)];
    worker.group.fill(-1);
    job.workers.push_back(worker);
    job.programs.push_back(std::move(program));
    const NodePair ends{ring[static_cast<std::size_t>(i)], ring[static_cast<std::size_t>(after)]};
    job.channels.push_back(
        {static_cast<std::uint32_t>(i),
         static_cast<std::uint32_t>(after),
         {edge_between(group, ends, group.edges.at(ends), scenario.run.seed, links)},
         Seconds(0)});
  }
  std::sort(job.channels.begin(), job.channels.end(), [](const Channel& a, const Channel& b) {
    return std::pair(a.from, a.to) < std::pair(b.from, b.to);
  });
  links.hand_over(job);
  return job;
}
}  // namespace stepcast
