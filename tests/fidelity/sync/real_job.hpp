#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenario/sync_spec.hpp"

/// A job of real processes around a real parameter server, small enough for this machine, and what
/// its pieces take when measured one by one.
namespace stepcast::real_sync {

/// A worker's step is a real gradient of a small transformer and a sleep that stands for a device
/// at work: then several workers do not compete for two cores as they would not on machines of
/// their own.
struct RealJob {
  SyncMode mode = SyncMode::async;
  int staleness = 0;
  int workers = 2;
  int steps = 100;             // of each worker, on average
  double sleep_s = 0.04;       // mean
  double sigma = 0.2;          // lognormal jitter of the sleep
  std::vector<double> slower;  // by worker: multiple of the sleep; absent: 1
  double slowdown_of(int worker) const {
    const auto w = static_cast<std::size_t>(worker);
    return w < slower.size() ? slower[w] : 1.0;
  }
};
/// Seconds a worker sleeps in a step.
double sleep_of(const RealJob& job, int worker, int step);

/// Each measured by itself, seconds.
struct Pieces {
  std::int64_t parameters = 0;
  std::vector<double> gradient_s;  // by worker, all computing at once and nobody sending
  double push_s = 0, pull_s = 0;   // a worker alone: all parameters one way, an empty message back
  double round_trip_s = 0;         // empty messages
  double sum_s = 0;                // the server takes one gradient in
  double bytes() const { return 4.0 * static_cast<double>(parameters); }
};
}  // namespace stepcast::real_sync
