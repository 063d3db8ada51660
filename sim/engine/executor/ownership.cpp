// Who owns a moment in which a worker's compute lane runs no segment.
#include "sim/engine/executor/step_run.hpp"

namespace stepcast {

void StepRun::settle(WorkerState& state) {
  const double now = network_.now();
  if (!state.is_computing) {
    state.breakdown[static_cast<std::size_t>(state.owner)] += now - state.mark;
    if (recorder_ && state.owner == Category::data_stall)
      recorder_->stall(static_cast<std::uint32_t>(&state - workers_.data()), state.mark, now);
  }
  state.mark = now;
}

// The owner holds until something changes what the worker waits for: an op of its own ends, the
// last member of a group arrives, a message gets on its way.
void StepRun::renew_owner(std::uint32_t worker) {
  WorkerState& state = workers_[worker];
  if (state.is_computing || state.is_done) return;
  settle(state);
  state.owner = owner_of_wait(worker);
}

Category StepRun::category_of_running(std::uint32_t worker, std::size_t lane,
                                      const ProgramOp& op) const {
  switch (op.kind) {
    case GraphOp::Kind::work:
    case GraphOp::Kind::send:
    case GraphOp::Kind::load:
      return op.category;
    case GraphOp::Kind::collective: {
      if (is_alone(worker, op)) return op.category;
      const std::uint32_t meeting = rendezvous_of(worker, lane, op);
      if (rendezvous_[meeting].is_started) return op.category;
      // Replicas of one stage are late because somebody is slow; stages are late because the
      // pipeline drains.
      const std::vector<std::uint32_t>& members = job_.groups[meeting / kLanes].workers;
      const bool spans_stages =
          job_.workers[members.front()].stage != job_.workers[members.back()].stage;
      return spans_stages ? Category::bubble : Category::straggler_wait;
    }
    case GraphOp::Kind::recv: {
      const std::uint32_t message =
          messages_.find(messages_.incoming(worker, op.peer_stage), op.tag);
      return message != MessageBox::kNone && messages_[message].is_sent ? op.category
                                                                        : Category::bubble;
    }
  }
  return Category::other;
}

// From the compute lane's next op (or, when it has none left, from the first lane that has) along
// first open dependencies to an op that is under way: that one owns the wait.
Category StepRun::owner_of_wait(std::uint32_t worker) const {
  const WorkerState& state = workers_[worker];
  std::size_t lane = 0;
  while (lane < kLanes && !has_head(worker, lane)) ++lane;
  if (lane == kLanes) return Category::bubble;
  const Program& program = program_of(worker);
  for (int step = 0; step < kLanes; ++step) {
    const ProgramOp& op = head(worker, lane);
    if (state.lanes[lane].is_busy) return category_of_running(worker, lane, op);
    bool is_open = false;
    for (std::uint32_t i = 0; i < op.dependency_count && !is_open; ++i) {
      const Dependency& dependency = program.dependencies[op.first_dependency + i];
      const auto other = static_cast<std::size_t>(dependency.lane);
      if (state.lanes[other].done > dependency.position) continue;
      is_open = true;
      lane = other;
    }
    if (!is_open)
      return Category::other;  // only before its pause is over: what is ready starts at once
  }
  return Category::bubble;
}
}  // namespace stepcast
