#include "tests/bench/viewer/cpu_cost.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace {
double wall_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double cpu_now() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}
}  // namespace

CpuMeter::CpuMeter() {
  perf_event_attr attr;
  std::memset(&attr, 0, sizeof attr);
  attr.type = PERF_TYPE_HARDWARE, attr.size = sizeof attr, attr.config = PERF_COUNT_HW_INSTRUCTIONS;
  attr.disabled = 1, attr.exclude_kernel = 1, attr.exclude_hv = 1, attr.inherit = 1;
  counter_ = static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0UL));
}
CpuMeter::~CpuMeter() {
  if (counter_ >= 0) close(counter_);
}
void CpuMeter::start() {
  if (counter_ >= 0) {
    ioctl(counter_, PERF_EVENT_IOC_RESET, 0);
    ioctl(counter_, PERF_EVENT_IOC_ENABLE, 0);
  }
  wall_ = wall_now(), cpu_ = cpu_now();
}
CpuCost CpuMeter::stop() {
  CpuCost cost{wall_now() - wall_, cpu_now() - cpu_, 0};
  if (counter_ >= 0) {
    ioctl(counter_, PERF_EVENT_IOC_DISABLE, 0);
    std::uint64_t count = 0;
    if (read(counter_, &count, sizeof count) == static_cast<ssize_t>(sizeof count))
      cost.instructions = count;
  }
  return cost;
}
double peak_MiB() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}
double resident_MiB() {
  long pages = 0, resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}
