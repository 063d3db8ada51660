#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

/// Loaders in time: processes whose workers read and decode batches ahead of the training.
namespace stepcast {

/// What a batch passes through, in this order: storage and cache in bytes, cores in core-seconds,
/// the network of a loader node in bytes.
enum class Station : std::uint8_t { storage, cache, cores, nic };
inline constexpr std::size_t kStations = 4;

/// Amount of one batch at a station, and the most a worker gets there per second.
struct BatchStage {
  Station station = Station::storage;
  double amount = 0, cap = std::numeric_limits<double>::infinity();
};
struct SupplySpec {
  struct Host {
    std::array<double, kStations> capacity{};  // per second; infinity: no limit
    double multiplicity = 1;                   // equal hosts that this one stands for
  };
  std::vector<Host> hosts;
  std::vector<std::vector<std::uint32_t>> consumers;  // the host of each process that feeds it
  std::vector<BatchStage> batch;
  double shared_storage = std::numeric_limits<double>::infinity();  // bytes/s over all hosts
  int workers = 1;           // of a process; 0: it begins a batch only when asked for it
  int prefetch = 2;          // batches of a process in work or waiting
  double latency_share = 0;  // of a worker's uncontended reading, what is latency ...
  double latency_sigma = 0;  // ... and that latency's lognormal spread from batch to batch
  std::uint64_t seed = 1;
};

struct LoaderSpan {
  std::uint32_t consumer = 0, process = 0;
  int worker = 0;
  Station station = Station::storage;
  double start = 0, end = 0;
};

/// The loaders of a job as an event simulation of their own, asked by whoever runs the steps.
///
///   free worker -> next batch of its process -> station after station -> waits in order
///   consumer takes the oldest batch of each of its processes, which frees a place for a new one
///
/// Workers at one station of a host share it max-min fairly, each up to its cap; hosts share the
/// storage behind them max-min fairly, each counting as the hosts it stands for.
class DataSupply {
 public:
  /// Workers begin in the phases that they have after many steps: evenly spread over the time of a
  /// batch. (A fresh start has them deliver in bunches.)
  explicit DataSupply(SupplySpec spec);

  double now() const { return now_; }
  /// The training takes `batches_per_step` batches over `step_s` seconds, for as many steps as the
  /// queues need to settle; then the clock is set to 0. A later step finds what a step in the
  /// middle of a run finds.
  void settle_in(double step_s, int batches_per_step);
  /// The consumer wants its next batch at that moment (not before now()) and waits until it is
  /// there. One batch at a time.
  void ask(std::uint32_t consumer, double at);
  /// Moment of the next change; infinity when nothing is under way.
  double next_event() const;
  /// Lets time pass up to `to`, changes at that moment included.
  void advance(double to);
  /// Consumers that got their batch since the last call, in order.
  std::vector<std::uint32_t> take_served();
  /// When the batch that the consumer took last was complete.
  double ready_at(std::uint32_t consumer) const { return ready_at_[consumer]; }

  /// Keeps what workers of the first `consumers` consumers do from now on.
  void record(std::uint32_t consumers) { recorded_ = consumers; }
  /// What was recorded, stages under way cut off at now().
  std::vector<LoaderSpan> spans() const;

 private:
  struct Job {
    std::uint32_t feed = 0;
    std::int64_t batch = 0;
    int worker = 0;
    std::size_t stage = 0;
    double left = 0, cap = 0, rate = 0, ends = 0, since = 0;
  };
  struct HostState {
    std::array<std::vector<Job>, kStations> jobs;
    double settled = 0, next = std::numeric_limits<double>::infinity();
    double demand = 0, granted = 0;  // of shared storage
    bool is_dirty = false;
  };
  struct Feed {
    std::uint32_t host = 0, consumer = 0, process = 0;
    std::int64_t started = 0, taken = 0;
    std::vector<char> is_busy;    // by worker
    std::deque<double> complete;  // of batches taken, taken + 1 ...; -infinity while in work
  };

  void begin_batches(std::uint32_t feed);
  void begin(std::uint32_t feed, int worker, double left_share);
  void enter_stage(Job job, double amount);
  void finish_stage(Job job);
  void try_take(std::uint32_t consumer);
  bool has_batch(std::uint32_t consumer) const;
  void settle(HostState& host);
  void set_clock_to_0();
  void share();
  double water_level() const;
  void retime(std::size_t host);
  double drawn_cap(const BatchStage& stage, std::uint32_t feed, std::int64_t batch) const;

  SupplySpec spec_;
  std::vector<HostState> hosts_;
  std::vector<Feed> feeds_;
  std::vector<std::vector<std::uint32_t>> feeds_of_;  // by consumer
  std::vector<char> waits_;                           // by consumer
  std::vector<double> ready_at_;
  std::vector<std::uint32_t> served_;
  std::vector<LoaderSpan> spans_;
  std::uint32_t recorded_ = 0;
  double now_ = 0;
};

/// Seconds between two batches of every consumer when all of them take theirs together and at
/// once: the pace of a training that never computes. Latency at its mean.
double round_seconds(SupplySpec spec);
}  // namespace stepcast
