#pragma once
#include <cstdint>

/// What a stretch of work cost: wall and CPU seconds of this process, and instructions in user mode
/// where the kernel lets us count.
struct CpuCost {
  double wall = 0, cpu = 0;
  std::uint64_t instructions = 0;  // 0 = not available
};
class CpuMeter {
 public:
  CpuMeter();
  CpuMeter(const CpuMeter&) = delete;
  CpuMeter& operator=(const CpuMeter&) = delete;
  ~CpuMeter();
  void start();
  CpuCost stop();

 private:
  int counter_ = -1;  // perf_event file, inherited by threads
  double wall_ = 0, cpu_ = 0;
};
/// Largest resident memory of the process so far, and the present one, MiB.
double peak_MiB();
double resident_MiB();
