#pragma once
#include <chrono>

namespace stepcast {
/// Seconds since construction, by the monotonic clock.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};
/// Largest resident size of this process so far, in MiB (getrusage counts KiB on Linux).
double peak_rss_MiB();
}  // namespace stepcast
