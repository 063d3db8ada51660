#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sim/import/chakra/chakra_node.hpp"
#include "sim/import/common/rank_trace.hpp"

/// PyTorch execution traces (torch.profiler.ExecutionTraceObserver), JSON, schemas 1.0.1 to 1.1:
///   {"schema": "1.0.2-chakra.0.0.4", "pid": 7, "nodes": [ {"id": 31, "name": "aten::mm",
///   "ctrl_deps": 30,
///     "inputs": {"values": [...], "shapes": [[8, 4], [4, 2]], "types": ["Tensor(float)", ...]},
///     "attrs": [{"name": "rf_id", "value": 20}, ...]} ]}
/// Until 1.0.1 the three lists stand in the node itself (inputs, input_shapes, input_types), the
/// parent is "parent", rf_id and tid beside. They hold operators, shapes and order of the host, and
/// no time.
namespace stepcast::chakra {
struct EtNode {
  std::uint64_t id = 0, parent = 0, rf_id = 0, tid = 0;
  std::string name;
  OpShape shape;           // dimensions, types in Kineto's words, values
  std::string collective;  // of record_param_comms: "all_gather"
  std::int64_t elements = 0, out_elements = 0;
  int element_bytes = 0, group_size = 0;
  std::string group;
};
struct ExecutionTrace {
  std::string file, schema;
  int rank = -1;
  std::vector<EtNode> nodes;
};

/// Nothing when the JSON is no such trace (another kind with "nodes"). Throws InputError when it is
/// no JSON.
std::optional<ExecutionTrace> read_execution_trace(const std::string& path, Anomalies& anomalies);
/// Leaf operators and collectives in order of the host's threads, without durations.
std::vector<Node> nodes_of(const ExecutionTrace& trace);

/// Gives the operators of a Kineto trace the shapes that the execution trace recorded: by record
/// function id where both have one, else by thread and order when both list the same operators.
/// Nothing is linked when the two are different captures; `reason` says why.
struct Linked {
  std::int64_t by_id = 0, by_order = 0;
  std::string reason;
};
Linked link(const ExecutionTrace& from, RankTrace& to);
}  // namespace stepcast::chakra
