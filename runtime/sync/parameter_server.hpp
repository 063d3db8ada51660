#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "runtime/launch/socket.hpp"
#include "sim/scenario/sync_spec.hpp"

/// A parameter server that really serves: what sim/sync simulates, over TCP and in memory.
///
///   worker -> server   'step, gradient'       the server takes it in, one at a time
///   server -> worker   'version, parameters'  as soon as the mode lets the worker go on
namespace stepcast::runtime {

struct ServerRule {
  SyncMode mode = SyncMode::bsp;  // bsp, ssp or async
  int staleness = 0;              // ssp: steps that a worker may be ahead of the slowest
  int workers = 1;
  float learning_rate = 0.01f;
  std::int64_t updates = 0;  // gradients to take in; then workers are told to stop
};

/// A gradient as it entered the parameters, in order of taking in. `read_version`: gradients that
/// were in when its worker's parameters were read. Seconds since the server began.
struct ServedUpdate {
  int worker = 0, step = 0;
  std::int64_t read_version = 0;
  double time_s = 0;
};

class ParameterServer {
 public:
  /// Requires: one worker or more; bsp, ssp or async; parameters that fit a message of
  /// Socket::kLongestMessage.
  ParameterServer(std::vector<float> parameters, const ServerRule& rule);
  /// Serves one worker until it leaves; a thread of its own each. A worker that is gone before the
  /// last update was in ends the run for all: nobody waits for it for ever.
  void serve(const Socket& worker);
  // After all threads of serve() ended:
  /// Message of what ended the run early; "" otherwise.
  const std::string& failure() const { return failure_; }
  const std::vector<ServedUpdate>& updates() const { return updates_; }
  const std::vector<float>& parameters() const { return parameters_; }

 private:
  void answer_until_over(const Socket& worker);
  void take_in(const ServedUpdate& update, const float* gradient);
  bool may_go_on(int worker, int step) const;
  bool is_over() const {
    return !failure_.empty() || static_cast<std::int64_t>(updates_.size()) >= rule_.updates;
  }
  void fail(const std::string& text);

  std::vector<float> parameters_, sum_;
  ServerRule rule_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> steps_of_;  // by worker: own gradients that are in
  std::vector<ServedUpdate> updates_;
  std::string failure_;
  double began_s_;
};

/// parameters += scale * gradient: what a server does with each gradient.
void add_scaled(std::vector<float>& parameters, const float* gradient, float scale);
}  // namespace stepcast::runtime
