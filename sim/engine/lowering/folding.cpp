#include "sim/engine/lowering/folding.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "sim/engine/lowering/disjoint_sets.hpp"

namespace stepcast {
namespace {

bool has_asymmetry(const Scenario& scenario, const Topology& topology) {
  if (!scenario.run.fold || !scenario.cluster.is_uniform() || !scenario.cluster.link_events.empty())
    return true;
  if (!topology.is_non_blocking()) return true;
  if (scenario.data && scenario.data->storage.latency_sigma > 0) return true;  // batches differ
  return std::any_of(scenario.stragglers.begin(), scenario.stragglers.end(),
                     [](const StragglerSpec& s) { return !s.is_without_effect(); });
}

/// Everything about one unit that decides what its ports carry, in numbers local to the unit.
struct Geometry {
  using Member = std::pair<int, int>;                    // stage, replica within the unit
  using ClassKey = std::pair<int, std::vector<Member>>;  // group kind, members within the unit
  struct ClassTraits {
    std::array<int, 4> shape{};
    std::map<std::pair<int, int>, double> out,
        in;                   // local node -> local node, by where the edge starts or ends
    std::map<int, int> gpus;  // by local node
    bool operator==(const ClassTraits&) const = default;
  };
  std::vector<int> node_of_rank;  // local node of every rank, in order of stage, replica, rank
  std::map<ClassKey, ClassTraits> classes;
  std::vector<std::tuple<Member, Member, int, int, std::map<std::pair<int, int>, double>>>
      paths;  // nodes, hops, edges
  bool operator==(const Geometry&) const = default;
};

class UnitMap {
 public:
  UnitMap(const Placement& placement, const Blocks& blocks)
      : unit_of_replica(static_cast<std::size_t>(blocks.replicas)) {
    DisjointSets sets(static_cast<std::size_t>(blocks.replicas));
    std::map<int, int> first_on_node;
    for (const Block& block : blocks.list)
      for (int rank : block.ranks) {
        const auto [at, is_new] = first_on_node.try_emplace(
            placement.node[static_cast<std::size_t>(rank)], block.replica);
        if (!is_new)
          sets.join(static_cast<std::size_t>(at->second), static_cast<std::size_t>(block.replica));
      }
    std::map<std::size_t, int> unit_of_root;
    for (int replica = 0; replica < blocks.replicas; ++replica) {
      const std::size_t root = sets.root(static_cast<std::size_t>(replica));
      const auto [at, is_new] = unit_of_root.try_emplace(root, static_cast<int>(replicas.size()));
      if (is_new) replicas.emplace_back();
      unit_of_replica[static_cast<std::size_t>(replica)] = at->second;
      local_replica.push_back(
          static_cast<int>(replicas[static_cast<std::size_t>(at->second)].size()));
      replicas[static_cast<std::size_t>(at->second)].push_back(replica);
    }
    for (std::size_t unit = 0; unit < replicas.size(); ++unit) {
      int next = 0;
      for (int stage = 0; stage < static_cast<int>(blocks.list.size()) / blocks.replicas; ++stage)
        for (int replica : replicas[unit])
          for (int rank : blocks.at(stage, replica).ranks) {
            const int node = placement.node[static_cast<std::size_t>(rank)];
            if (local_node.try_emplace(node, static_cast<int>(unit), next).second) ++next;
          }
    }
  }
  std::vector<int> unit_of_replica, local_replica;
  std::vector<std::vector<int>> replicas;         // by unit
  std::map<int, std::pair<int, int>> local_node;  // node -> unit, number within it
};

std::vector<Geometry> geometries(const Placement& placement, const Blocks& blocks,
                                 const std::vector<ProcessGroup>& groups,
                                 const std::vector<MessagePath>& paths, const UnitMap& units) {
  std::vector<Geometry> all(units.replicas.size());
  const auto local = [&](int node) { return units.local_node.at(node).second; };
  const auto unit_of_node = [&](int node) {
    return static_cast<std::size_t>(units.local_node.at(node).first);
  };
  const auto member = [&](int block) {
    const Block& b = blocks.list[static_cast<std::size_t>(block)];
    return Geometry::Member{b.stage, units.local_replica[static_cast<std::size_t>(b.replica)]};
  };
  const auto unit_of_block = [&](int block) {
    return static_cast<std::size_t>(units.unit_of_replica[static_cast<std::size_t>(
        blocks.list[static_cast<std::size_t>(block)].replica)]);
  };
  for (const Block& block : blocks.list)
    for (int rank : block.ranks)
      all[static_cast<std::size_t>(units.unit_of_replica[static_cast<std::size_t>(block.replica)])]
          .node_of_rank.push_back(local(placement.node[static_cast<std::size_t>(rank)]));
  for (const ProcessGroup& group : groups) {
    std::map<std::size_t, std::vector<Geometry::Member>> members;  // by unit
    for (int block : group.blocks) members[unit_of_block(block)].push_back(member(block));
    std::map<std::size_t, Geometry::ClassTraits*> traits;
    for (auto& [unit, list] : members) {
      Geometry::ClassTraits& t = all[unit].classes[{static_cast<int>(group.kind), list}];
      t.shape = {group.shape.ranks, group.shape.nodes, group.shape.ranks_per_node,
                 group.shape.max_hops};
      traits[unit] = &t;
    }
    for (const auto& [edge, weight] : group.edges) {
      const int from = local(edge.first), to = local(edge.second);
      // The ring over all ranks steps from stage to stage at a few nodes only; see
      // folded_destination.
      const bool by_port = group.kind == GroupKind::world;
      traits.at(unit_of_node(edge.first))->out[{from, by_port ? from : to}] += weight;
      traits.at(unit_of_node(edge.second))->in[{by_port ? to : from, to}] += weight;
    }
    for (const auto& [node, gpus] : group.gpus_on_node)
      traits.at(unit_of_node(node))->gpus[local(node)] += gpus;
  }
  for (const MessagePath& path : paths) {
    std::map<std::pair<int, int>, double> edges;
    for (const auto& [edge, weight] : path.edges)
      edges[{local(edge.first), local(edge.second)}] += weight;
    all[unit_of_block(path.from)].paths.emplace_back(member(path.from), member(path.to),
                                                     path.shape.nodes, path.shape.max_hops, edges);
  }
  return all;
}
}  // namespace

int folded_destination(GroupKind kind, const NodePair& edge) {
  return kind == GroupKind::world ? edge.first : edge.second;
}

Folding fold(const Scenario& scenario, const Placement& placement, const Blocks& blocks,
             const std::vector<ProcessGroup>& groups, const std::vector<MessagePath>& paths,
             const Topology& topology) {
  Folding folding;
  const auto keep_all = [&] {
    for (int replica = 0; replica < blocks.replicas; ++replica)
      folding.kept_replicas.push_back(replica);
    return folding;
  };
  if (blocks.replicas == 1 || has_asymmetry(scenario, topology)) return keep_all();
  const UnitMap units(placement, blocks);
  if (units.replicas.size() == 1) return keep_all();
  const std::vector<Geometry> all = geometries(placement, blocks, groups, paths, units);
  for (const Geometry& geometry : all)
    if (!(geometry == all.front())) return keep_all();
  folding.is_folded = true;
  folding.multiplicity = static_cast<int>(units.replicas.size());
  folding.kept_replicas = units.replicas.front();
  std::map<int, int> kept;  // local number -> node of the first unit
  for (const auto& [node, place] : units.local_node)
    if (place.first == 0) kept[place.second] = node;
  folding.node_to_kept.assign(static_cast<std::size_t>(scenario.cluster.nodes()), -1);
  for (const auto& [node, place] : units.local_node)
    folding.node_to_kept[static_cast<std::size_t>(node)] = kept.at(place.second);
  return folding;
}
}  // namespace stepcast
