#pragma once
#include <deque>
#include <optional>
#include <vector>

#include "sim/engine/supply_port.hpp"
#include "sim/sync/sync_job.hpp"

namespace stepcast {
/// A job under way: a state machine per worker and per server, advanced by timers and flows.
///
///   worker   [wait for parameters][forward][middle][backward piece, piece, ...]  each piece sends
///   its bucket off server   queue of pushes -> sum (and update) one at a time -> releases what was
///   waiting for it
///
/// What releases a worker's pull is the mode: its own push (async), n - k pushes of the same step
/// (bsp), its own push and nobody further behind than the bound (ssp).
class SyncRun {
 public:
  SyncRun(const SyncJob& job, Network& network);
  SyncOutcome run();

 private:
  enum class Doing : std::uint8_t {
    waiting_for_others,
    transferring,
    computing,
    paused,
    reading_data,
    done
  };
  /// Messages of one direction that wait for credit, first layers first (the highest exchange), and
  /// what is under way.
  struct Lane {
    struct Message {
      std::uint32_t exchange = 0, share = 0;
      int step = 0;
    };
    std::vector<Message> waiting;
    double under_way = 0;  // bytes
    int messages_under_way = 0;
    std::uint32_t exchange = 0;  // of the last one that started
  };
  struct Pushed {
    std::size_t left = 0, taken = 0;
    std::int64_t read_version = 0;
  };
  struct WorkerState {
    int step = 0;  // the step it is in; bsp: the global one
    int steps_done = 0;
    int wants_step = 0;     // the step whose pushes its pulls answer
    std::size_t piece = 0;  // next forward piece (overlapped pulls) or backward piece
    bool is_forward = true;
    Doing doing = Doing::transferring;
    double mark = 0;
    Breakdown breakdown{};
    std::int64_t read_version = 0, reading_version = 0;
    std::vector<std::uint32_t> pulls_left;  // by exchange: shares not yet here
    std::size_t exchanges_here = 0;
    std::map<int, Pushed> pushed;  // by step: what became of its pushes
    double lane_free = 0;          // encode and local reduction run one after another
    bool is_blocked_on_pull = false;
    int exchange_round = 0;      // gossip: exchanges finished
    std::map<int, int> arrived;  // gossip ring: messages of an exchange that are here
    bool awaits_neighbours = false;
    std::vector<StorageQueue> loaders;
    Lane pushes, pulls;
  };
  struct Push {
    std::uint32_t worker = 0, exchange = 0, share = 0;
    int step = 0;
  };
  struct ServerState {
    std::deque<Push> queue;
    bool is_busy = false;
    double busy_s = 0;
  };

  // sync_run.cpp: a worker's step
  void begin_step(std::uint32_t worker);
  void start_forward(std::uint32_t worker);
  void next_piece(std::uint32_t worker);
  void backward_piece(std::uint32_t worker);
  void end_backward(std::uint32_t worker);
  void bucket_ready(std::uint32_t worker, std::size_t exchange);
  void compute(std::uint32_t worker, const SyncCompute& work, std::function<void()> then);
  double stretched(std::uint32_t worker, const SyncCompute& work);
  void change(std::uint32_t worker, Doing doing);
  void finish_step(std::uint32_t worker);
  bool is_over() const { return static_cast<std::int64_t>(applied_) >= target_; }

  // server_side.cpp: pushes, queues, pulls
  void push_all(std::uint32_t worker, std::size_t exchange, int step);
  void arrive_at_server(std::uint32_t server, const Push& push);
  void serve(std::uint32_t server);
  void take_in(const Push& push);
  void own_step_taken_in(std::uint32_t worker, int step);
  void release_blocked();
  bool may_release(std::uint32_t worker, std::uint32_t exchange, std::uint32_t share) const;
  void try_release(std::uint32_t worker, std::uint32_t exchange, std::uint32_t share);
  void pull(std::uint32_t worker, std::uint32_t exchange, std::uint32_t share);
  void pulled(std::uint32_t worker, std::uint32_t exchange);
  void pump(std::uint32_t worker, bool is_push);
  void send_push(std::uint32_t worker, const Lane::Message& message);
  void send_pull(std::uint32_t worker, const Lane::Message& message);
  std::vector<LinkId> route_to(std::uint32_t worker, std::uint32_t server, bool is_push) const;
  std::size_t slot(std::uint32_t exchange, std::uint32_t share) const {
    return first_share_[exchange] + share;
  }

  // averaging.cpp: rounds over everyone, gossip, elastic averaging
  void after_local_step(std::uint32_t worker);
  void arrive_at_round(std::uint32_t worker);
  void start_round();
  void end_round();
  void gossip(std::uint32_t worker);
  void gossip_arrived(std::uint32_t worker, int exchange);
  void send_between(int from_node, int to_node, std::function<void()> then);
  void elastic_exchange(std::uint32_t worker);
  void log_update(std::uint32_t worker, int step, std::int64_t read_version, std::int64_t staleness,
                  bool is_dropped = false, int peer = -1);

  SyncOutcome outcome();
  void schedule_link_events();
  void load(std::uint32_t worker, std::function<void()> then);

  const SyncJob& job_;
  Network& network_;
  std::vector<WorkerState> workers_;
  std::vector<ServerState> servers_;
  std::vector<std::size_t> first_share_;  // by exchange: number of its first share among all
  std::vector<int> pushes_in_;            // by share: pushes of the open step (bsp)
  std::vector<int> step_of_share_;        // by share: steps aggregated (bsp)
  std::vector<std::vector<char>> wants_;  // by worker and share: 1 a pull waits to be released, 2
                                          // and the own push was taken in
  std::vector<int> steps_applied_;        // by worker: own steps that are wholly in
  std::size_t applied_ = 0;               // updates so far, the log's order
  std::int64_t target_ = 0;
  int clock_min_ = 0;                    // steps that every worker has completed (ssp)
  std::vector<std::uint32_t> at_round_;  // workers that stand at the open round
  int open_round_ = 0;
  bool round_is_moving_ = false;
  std::vector<std::uint32_t> late_;  // arrived while the round they missed was moving
  double payload_ = 0;
  std::vector<SyncUpdate> log_;
  std::vector<double> sample_times_;  // time of every completed worker step with its samples
  std::vector<double> sample_counts_;
  std::vector<Network::Handle> link_timers_;
  std::optional<SupplyPort> supply_;
  std::vector<std::function<void()>> after_load_;  // by worker: what its batch lets it do
  std::vector<std::uint32_t> worker_of_consumer_;
};
}  // namespace stepcast
