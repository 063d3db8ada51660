#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/engine/executor/message_box.hpp"
#include "sim/engine/executor/segment_clock.hpp"
#include "sim/engine/executor/segment_shares.hpp"
#include "sim/engine/executor/timeline_recorder.hpp"
#include "sim/engine/step_executor.hpp"
#include "sim/engine/supply_port.hpp"

namespace stepcast {
/// One step under way: a state machine per worker, advanced by timers and flows of the network.
///
/// A lane starts its next op when it is free and the op's dependencies are complete. What each kind
/// then does:
///   work        one timer; on the compute lane the segment's host bounds and the overlap slowdown
///   apply collective  waits for all workers of the group; then start-up timer, then flows over
///   every edge and the intra timer send        start-up and latency timer, then flows; complete
///   when they have arrived, whatever the receiver does recv        complete when the message has
///   arrived
/// Nothing completes inside a call that another worker made: each hand-over goes through a timer or
/// a flow, so the depth of calls does not grow with the number of workers.
class StepRun {
 public:
  StepRun(const Job& job, Network& network, const ExecuteOptions& options);
  StepOutcome run();

 private:
  struct LaneState {
    std::uint32_t done = 0;
    bool is_busy = false;
    double since = 0;
  };
  struct WorkerState {
    std::array<LaneState, kLanes> lanes{};
    SegmentClock clock;
    Network::Handle timer = 0;
    double host_free = 0;  // when the host may issue the next segment
    int on_wire = 0;       // collectives and messages that are moving bytes
    int decoding = 0;      // kernels of a compressor on streams beside compute
    bool is_computing = false, is_advancing = false, is_again = false, is_done = false;
    double mark = 0;                    // the compute lane's time is booked up to here
    Category owner = Category::bubble;  // of the idle time since `mark`
    double finish = 0, compute_seconds = 0;
    Breakdown breakdown{};
  };
  /// A group's collective on one lane; in-order lanes allow one at a time.
  struct Rendezvous {
    std::uint32_t arrived = 0, pending = 0;
    bool is_started = false;
    double started = 0;
    // Its part inside the nodes: seconds left at full speed on `since`, and how fast it goes.
    double left = 0, since = 0, speed = 1;
    Network::Handle timer = 0;
  };

  // step_run.cpp: lanes and work
  void begin();
  void advance(std::uint32_t worker);
  bool is_ready(std::uint32_t worker, const ProgramOp& op) const;
  void start(std::uint32_t worker, std::size_t lane, const ProgramOp& op);
  void complete(std::uint32_t worker, std::size_t lane);
  void start_work(std::uint32_t worker, std::size_t lane, const ProgramOp& op);
  void finish_segment(std::uint32_t worker);
  void change_on_wire(std::uint32_t worker, int by);
  void change_decoding(std::uint32_t worker, int by);
  /// Sets the compute lane's speed anew where it is not `before` any more.
  void change_speed(std::uint32_t worker, double before);
  double speed_of(const WorkerState& state) const;
  double slowdown_of(std::uint32_t worker, std::size_t lane) const;
  double drawn_slowdown(std::uint32_t worker, std::size_t lane) const;
  void schedule_link_events();
  [[noreturn]] void report_deadlock() const;
  StepOutcome outcome();
  std::vector<LinkLoad> busiest_links(double step) const;

  // transfers.cpp: collectives and messages
  void arrive(std::uint32_t worker, std::size_t lane, const ProgramOp& op);
  void launch_collective(std::uint32_t rendezvous);
  void end_collective_part(std::uint32_t rendezvous);
  void run_inside_nodes(std::uint32_t index);
  double speed_of_collective(std::uint32_t index) const;
  /// This worker began or ceased to compute: collectives beside it go slower or faster.
  void change_computing(std::uint32_t worker, bool is_computing);
  void send(std::uint32_t worker, std::size_t lane, const ProgramOp& op);
  void receive(std::uint32_t worker, std::size_t lane, const ProgramOp& op);
  void launch_message(std::uint32_t message);
  void end_message_part(std::uint32_t message);
  void deliver(std::uint32_t message);
  /// The op's group has no other worker: its lockstep ranks need nobody else.
  bool is_alone(std::uint32_t worker, const ProgramOp& op) const;
  std::uint32_t rendezvous_of(std::uint32_t worker, std::size_t lane, const ProgramOp& op) const;
  /// Of the op at the head of the lane, a collective or a send.
  const Transfer& transfer_of(std::uint32_t worker, std::size_t lane) const;
  const Transfer& transfer_of_group(std::uint32_t group, std::size_t lane) const;

  // loads.cpp: batches from the loaders
  void attach_supply(const ExecuteOptions& options);
  void load(std::uint32_t worker, std::size_t lane);
  void end_load(std::uint32_t worker, std::uint32_t consumer);
  void record_loaders();

  // ownership.cpp: who owns the compute lane's idle time
  void settle(WorkerState& state);
  void renew_owner(std::uint32_t worker);
  Category owner_of_wait(std::uint32_t worker) const;
  Category category_of_running(std::uint32_t worker, std::size_t lane, const ProgramOp& op) const;

  const std::vector<ProgramOp>& ops(std::uint32_t worker, std::size_t lane) const {
    return job_.programs[job_.workers[worker].program].lanes[lane];
  }
  const ProgramOp& head(std::uint32_t worker, std::size_t lane) const {
    return ops(worker, lane)[workers_[worker].lanes[lane].done];
  }
  bool has_head(std::uint32_t worker, std::size_t lane) const {
    return workers_[worker].lanes[lane].done < ops(worker, lane).size();
  }
  const Program& program_of(std::uint32_t worker) const {
    return job_.programs[job_.workers[worker].program];
  }

  const Job& job_;
  Network& network_;
  std::vector<WorkerState> workers_;
  std::vector<Rendezvous> rendezvous_;  // group * kLanes + lane
  MessageBox messages_;
  std::vector<std::vector<SegmentShares>> shares_;  // by program and segment
  std::vector<Network::Handle> link_event_timers_;
  std::array<double, kGroupKinds> payload_{};
  std::size_t unfinished_ = 0;
  std::optional<TimelineRecorder> recorder_;
  std::optional<SupplyPort> supply_;
  std::vector<std::uint32_t> worker_of_consumer_;
  std::vector<OpTimes> op_times_;  // empty unless asked for
};
}  // namespace stepcast
