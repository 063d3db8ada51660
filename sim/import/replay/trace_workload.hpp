#pragma once
#include <span>

#include "sim/import/common/collective_match.hpp"
#include "sim/import/common/rank_trace.hpp"
#include "sim/import/replay/workload_file.hpp"

namespace stepcast {
/// Measured ranks as a workload. The host is part of it: each thread's calls follow one another, a
/// kernel waits for its launch, a synchronising call for the device work it was seen to wait for.
///   thread   |--gap + launch--|--gap + launch--|........sync|
///   stream                 |==kernel==|  |==kernel==|
/// Dependencies the trace does not state are read off the times:
///   another stream  : work that starts within 20 us of the end of work on another stream, though
///   its own stream and its launch were
///                     ready before, waited for it (a stream-wait event);
///   another thread  : a call after a pause in which another thread of the process was active
///   follows that thread's last call; a blocking call : a copy call that returns after its own
///   device work waited for it.
/// What remains unexplained is the op's delay. Only work inside the marked steps is taken.
Workload workload_of(std::span<const RankTrace> traces, Anomalies& anomalies);
}  // namespace stepcast
