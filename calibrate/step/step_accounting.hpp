#pragma once
#include "sim/timeline/timeline.hpp"

namespace stepcast::calibrate {
/// A measured step's moments, each owned once, as the simulator's report owns them: what the
/// compute stream runs belongs to its op's category; while it idles, an active gradient, send or
/// recv span owns the moment (exposed), else the launch gap does. [begin, end) on the timeline's
/// clock; the parts sum to end - begin. Pure.
Breakdown step_breakdown(const Timeline& timeline, Nanoseconds begin, Nanoseconds end);
}  // namespace stepcast::calibrate
