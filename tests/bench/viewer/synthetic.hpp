#pragma once
#include <cstdint>
#include <string>

#include "sim/timeline/store/trace_store.hpp"

/// A made-up job for benchmarks: ranks x 4 streams, 40 slices a step and stream, jitter, every 97th
/// rank slow. Deterministic.
struct SyntheticShape {
  std::int64_t slices = 10'000'000;
  int tracks = 8192;
  double speed = 1;  // of every op; another value makes a second trace to compare with
};
stepcast::trace::TracePtr synthetic_trace(const SyntheticShape& shape);
/// The same as Kineto-style JSON with arguments, about 395 bytes an event.
void write_synthetic_json(const std::string& path, std::int64_t events);
