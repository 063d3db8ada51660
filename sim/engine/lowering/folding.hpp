#pragma once
#include <vector>

#include "sim/engine/lowering/process_groups.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
/// Which replicas stand for all. A unit is the smallest set of replicas that shares no node with
/// another: one replica when it fills its nodes, several when they sit side by side.
struct Folding {
  bool is_folded = false;
  int multiplicity = 1;            // units
  std::vector<int> kept_replicas;  // of the first unit; all when not folded
  std::vector<int> node_to_kept;   // physical node -> the node of the first unit in the same place;
                                   // -1 when unused
};

/// Node at which an edge ends in the folded step. The ring over all ranks carries a few bytes (the
/// gradient norm) when nobody else sends; each node sends and receives once, and where its edge
/// goes does not matter: it is closed on its own node, so that the places where the ring steps from
/// one stage to the next do not keep replicas apart.
int folded_destination(GroupKind kind, const NodePair& edge);

/// Folds when nothing can tell the units apart: uniform nodes, no straggler, no link event, a
/// fabric whose ports alone can limit a flow, and the same geometry for every unit: equal places of
/// ranks on nodes, the same weights of every group's edges into and out of each node, equal hops on
/// every path. Ports then carry the same flows in every unit at every moment, and max-min sharing
/// gives them the same rates, so one unit with its ring edges closed upon itself is exact.
Folding fold(const Scenario& scenario, const Placement& placement, const Blocks& blocks,
             const std::vector<ProcessGroup>& groups, const std::vector<MessagePath>& paths,
             const Topology& topology);
}  // namespace stepcast
