#pragma once
#include <string>
#include <vector>

#include "sim/engine/job.hpp"

namespace stepcast::tests {
/// Jobs by hand: programs op by op, workers, groups and links with round numbers.
struct ProgramBuilder {
  Program program;
  NameTable& names;
  explicit ProgramBuilder(NameTable& table) : names(table) {}

  static Dependency after(Lane lane, std::uint32_t position) { return {lane, position}; }
  ProgramOp& op(GraphOp::Kind kind, Lane lane, Category category, const std::string& name,
                std::vector<Dependency> dependencies = {}) {
    auto& ops = program.lanes[static_cast<std::size_t>(lane)];
    ProgramOp& added = ops.emplace_back();
    added.kind = kind;
    added.lane = lane;
    added.category = category;
    added.name = names.id_of(name);
    added.first_dependency = static_cast<std::uint32_t>(program.dependencies.size());
    added.dependency_count = static_cast<std::uint32_t>(dependencies.size());
    program.dependencies.insert(program.dependencies.end(), dependencies.begin(),
                                dependencies.end());
    return added;
  }
  /// A segment of one piece per second given, all of them compute.
  ProgramOp& work(const std::string& name, double seconds,
                  std::vector<Dependency> dependencies = {}, Lane lane = Lane::compute) {
    Segment segment;
    segment.scaled = seconds;
    segment.by_category[static_cast<std::size_t>(Category::compute)] = seconds;
    segment.pieces.push_back(
        {names.id_of(name), Category::compute, static_cast<float>(seconds), 0, true});
    return work(name, std::move(segment), std::move(dependencies), lane);
  }
  ProgramOp& work(const std::string& name, Segment segment,
                  std::vector<Dependency> dependencies = {}, Lane lane = Lane::compute) {
    program.segments.push_back(std::move(segment));
    ProgramOp& added =
        op(GraphOp::Kind::work, lane, Category::compute, name, std::move(dependencies));
    added.index = static_cast<std::uint32_t>(program.segments.size() - 1);
    return added;
  }
  ProgramOp& collective(double edge_bytes, double startup, std::vector<Dependency> dependencies,
                        Lane lane = Lane::gradient, GroupKind group = GroupKind::dp) {
    ProgramOp& added = op(GraphOp::Kind::collective, lane, Category::exposed_dp, "grad_reduce",
                          std::move(dependencies));
    added.index = transfer(edge_bytes, startup, group);
    return added;
  }
  ProgramOp& send(int stage, std::uint32_t tag, double edge_bytes,
                  std::vector<Dependency> dependencies) {
    ProgramOp& added =
        op(GraphOp::Kind::send, Lane::send, Category::exposed_pp, "send", std::move(dependencies));
    added.index = transfer(edge_bytes, 0, GroupKind::pp);
    added.peer_stage = stage;
    added.tag = tag;
    return added;
  }
  ProgramOp& receive(int stage, std::uint32_t tag) {
    ProgramOp& added = op(GraphOp::Kind::recv, Lane::recv, Category::exposed_pp, "recv");
    added.peer_stage = stage;
    added.tag = tag;
    return added;
  }

 private:
  std::uint32_t transfer(double edge_bytes, double startup, GroupKind group) {
    Transfer transfer;
    transfer.group = group;
    transfer.terms.startup = Seconds(startup);
    transfer.terms.edge_bytes = transfer.terms.payload_edge_bytes = edge_bytes;
    transfer.payload_bytes = edge_bytes;
    program.transfers.push_back(transfer);
    return static_cast<std::uint32_t>(program.transfers.size() - 1);
  }
};

inline LinkId add_link(Job& job, double capacity) {
  job.links.push_back({"link" + std::to_string(job.links.size()), BytesPerSecond(capacity)});
  return static_cast<LinkId>(job.links.size() - 1);
}
inline std::uint32_t add_worker(Job& job, std::uint32_t program, int stage = 0, int replica = 0) {
  Worker worker;
  worker.program = program;
  worker.stage = stage;
  worker.replica = replica;
  worker.first_rank = static_cast<int>(job.workers.size());
  worker.group.fill(-1);
  job.workers.push_back(worker);
  return static_cast<std::uint32_t>(job.workers.size() - 1);
}
/// A ring over the workers: one edge per worker to the next over the given route of each.
inline void add_group(Job& job, std::vector<std::uint32_t> workers,
                      std::vector<std::vector<LinkId>> routes, GroupKind kind = GroupKind::dp) {
  Group group{kind, std::move(workers), {}};
  for (auto& route : routes) group.edges.push_back({std::move(route), 1});
  for (const std::uint32_t worker : group.workers)
    job.workers[worker].group[static_cast<std::size_t>(kind)] =
        static_cast<std::int32_t>(job.groups.size());
  job.groups.push_back(std::move(group));
}
inline double seconds_of(const Breakdown& breakdown, Category category) {
  return breakdown[static_cast<std::size_t>(category)];
}
}  // namespace stepcast::tests
