#include <fmt/format.h>

#include <array>
#include <map>
#include <set>

#include "sim/graph/step_graph.hpp"

namespace stepcast {
namespace {

struct MessageKey {
  int from = 0, to = 0;
  std::uint32_t tag = 0;
  auto operator<=>(const MessageKey&) const = default;
};
MessageKey key_of(int stage, const GraphOp& op) {
  return op.kind == GraphOp::Kind::send ? MessageKey{stage, op.peer_stage, op.tag}
                                        : MessageKey{op.peer_stage, stage, op.tag};
}
std::string place(int stage, std::size_t op, const StageGraph& graph) {
  return fmt::format("stage {} op {} ({})", stage, op, graph.ops[op].name);
}

std::string fault_of_op(const StepGraph& graph, int stage, std::size_t index) {
  const StageGraph& program = graph.stages[static_cast<std::size_t>(stage)];
  const GraphOp& op = program.ops[index];
  if (op.kind == GraphOp::Kind::work && op.hold_s > 0 && op.work < 0) return "";
  if (op.kind == GraphOp::Kind::work &&
      (op.work < 0 || static_cast<std::size_t>(op.work) >= program.works.size()))
    return place(stage, index, program) + " names a work list that does not exist";
  const bool is_load = op.kind == GraphOp::Kind::load;
  if (op.kind != GraphOp::Kind::work && !is_load && op.buffer.value <= 0)
    return place(stage, index, program) + " moves no bytes";
  const bool is_message = op.kind == GraphOp::Kind::send || op.kind == GraphOp::Kind::recv;
  if (is_message &&
      (op.peer_stage < 0 || static_cast<std::size_t>(op.peer_stage) >= graph.stages.size() ||
       op.peer_stage == stage))
    return place(stage, index, program) + fmt::format(" has no peer stage {}", op.peer_stage);
  for (int dependency : op.after)
    if (dependency < 0 || static_cast<std::size_t>(dependency) >= program.ops.size())
      return place(stage, index, program) + " waits for an op that does not exist";
  return {};
}

std::string fault_of_messages(const StepGraph& graph) {
  std::map<MessageKey, Bytes> sent, received;
  for (std::size_t s = 0; s < graph.stages.size(); ++s)
    for (std::size_t i = 0; i < graph.stages[s].ops.size(); ++i) {
      const GraphOp& op = graph.stages[s].ops[i];
      if (op.kind != GraphOp::Kind::send && op.kind != GraphOp::Kind::recv) continue;
      auto& side = op.kind == GraphOp::Kind::send ? sent : received;
      if (!side.emplace(key_of(static_cast<int>(s), op), op.buffer).second)
        return place(static_cast<int>(s), i, graph.stages[s]) +
               fmt::format(" repeats tag {}", op.tag);
    }
  for (const auto& [key, bytes] : sent) {
    const auto met = received.find(key);
    if (met == received.end())
      return fmt::format("message {} from stage {} to {} is sent and never received", key.tag,
                         key.from, key.to);
    if (met->second != bytes)
      return fmt::format(
          "message {} from stage {} to {} is {} bytes at its source and {} at its destination",
          key.tag, key.from, key.to, bytes.value, met->second.value);
  }
  for (const auto& [key, bytes] : received)
    if (!sent.contains(key))
      return fmt::format("message {} from stage {} to {} is received and never sent", key.tag,
                         key.from, key.to);
  return {};
}

/// Lets every stage run its lanes without a clock; what cannot run names the circle.
class Rehearsal {
 public:
  explicit Rehearsal(const StepGraph& graph) : graph_(graph) {
    for (const StageGraph& program : graph.stages) {
      State state;
      state.done.assign(program.ops.size(), false);
      for (std::size_t i = 0; i < program.ops.size(); ++i)
        state.lanes[static_cast<std::size_t>(program.ops[i].lane)].push_back(i);
      for (const GraphOp& op : program.ops)
        if (op.kind == GraphOp::Kind::collective) ++state.joined[op.group].second;
      states_.push_back(std::move(state));
    }
  }
  std::string fault() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t s = 0; s < states_.size(); ++s)
        for (std::size_t lane = 0; lane < static_cast<std::size_t>(kLanes); ++lane)
          while (advance(s, lane)) moved = true;
    }
    for (std::size_t s = 0; s < states_.size(); ++s)
      for (std::size_t lane = 0; lane < static_cast<std::size_t>(kLanes); ++lane)
        if (states_[s].at[lane] < states_[s].lanes[lane].size())
          return place(static_cast<int>(s), states_[s].lanes[lane][states_[s].at[lane]],
                       graph_.stages[s]) +
                 " can never start";
    return {};
  }

 private:
  struct State {
    std::array<std::vector<std::size_t>, kLanes> lanes;
    std::array<std::size_t, kLanes> at{};
    std::vector<bool> done;
    std::map<GroupKind, std::pair<int, int>>
        joined;  // collectives of the group that this stage reached, and has in all
    std::set<std::size_t> arrived;
  };
  static bool spans_stages(GroupKind kind) {
    return kind == GroupKind::world || kind == GroupKind::embedding || kind == GroupKind::pp;
  }

  bool advance(std::size_t s, std::size_t lane) {
    State& state = states_[s];
    if (state.at[lane] == state.lanes[lane].size()) return false;
    const std::size_t index = state.lanes[lane][state.at[lane]];
    const GraphOp& op = graph_.stages[s].ops[index];
    for (int dependency : op.after)
      if (!state.done[static_cast<std::size_t>(dependency)]) return false;
    if (op.kind == GraphOp::Kind::recv && !sent_.contains(key_of(static_cast<int>(s), op)))
      return false;
    if (op.kind == GraphOp::Kind::collective && spans_stages(op.group)) {
      if (state.arrived.insert(index).second) ++state.joined[op.group].first;
      // The n-th collective of a group runs when every stage that takes part has reached its n-th.
      for (const State& other : states_) {
        const auto joined = other.joined.find(op.group);
        if (joined != other.joined.end() && joined->second.second > 0 &&
            joined->second.first < state.joined[op.group].first)
          return false;
      }
    }
    if (op.kind == GraphOp::Kind::send) sent_.insert(key_of(static_cast<int>(s), op));
    state.done[index] = true;
    ++state.at[lane];
    return true;
  }

  const StepGraph& graph_;
  std::vector<State> states_;
  std::set<MessageKey> sent_;
};
}  // namespace

std::string graph_fault(const StepGraph& graph) {
  for (std::size_t s = 0; s < graph.stages.size(); ++s)
    for (std::size_t i = 0; i < graph.stages[s].ops.size(); ++i)
      if (std::string fault = fault_of_op(graph, static_cast<int>(s), i); !fault.empty())
        return fault;
  if (std::string fault = fault_of_messages(graph); !fault.empty()) return fault;
  return Rehearsal(graph).fault();
}
}  // namespace stepcast
