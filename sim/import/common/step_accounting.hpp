#pragma once
#include <string>
#include <vector>

#include "sim/import/common/rank_trace.hpp"

/// Where the time of each measured step went.
namespace stepcast {

/// Device events belong to the step in whose host window they were launched; without a launch, to
/// the one in which they start. Kernels of one stream do not overlap; those of several are merged,
/// so every figure is wall time of the device.
struct StepAccount {
  std::int64_t number = 0;
  Nanoseconds start = 0;  // of the host's mark
  Seconds period;         // to the next mark; of the last step the host's own duration
  bool is_last = false;
  Seconds kernel_span;  // first to last kernel
  Seconds compute, communication,
      exposed_communication;  // exposed: no compute kernel runs meanwhile
  Seconds copies;             // copies and memsets
  Seconds device_idle;        // of the period: neither compute, communication nor copies
  std::int64_t kernels = 0, collectives = 0;
  Seconds host_wait;  // host inside synchronising calls
  std::int64_t launches = 0;
};
std::vector<StepAccount> accounts_of(const RankTrace& trace);

/// Device work was recorded and no compute kernel among it (a profiler told to trace copies only,
/// or an export without its kernel table): what the GPU computed is unknown, and no host range
/// stands for it. A recording of the CPU alone lacks none.
bool lacks_kernels(const RankTrace& trace);

/// Which step (index into trace.steps) an event belongs to, or kNone; one entry an event.
std::vector<std::uint32_t> steps_of_events(const RankTrace& trace);

/// Fills trace.steps: ProfilerStep marks, else a training annotation that repeats (Optimizer.step
/// and the like), else the whole trace.
void find_steps(RankTrace& trace);

std::string text_of(const std::vector<StepAccount>& accounts);
}  // namespace stepcast
