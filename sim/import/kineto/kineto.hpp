#pragma once
#include <string>
#include <string_view>

#include "sim/import/common/rank_trace.hpp"

/// PyTorch profiler traces (Kineto), 1.8 and later, CUDA, ROCm and CPU:
///   {"ph": "X", "cat": "kernel", "name": "...", "pid": 0 (device), "tid": 7 (stream), "ts": us,
///   "dur": us,
///    "args": {"correlation": 57541, "stream": 7, "Collective name": "allreduce", "In msg nelems":
///    ..., ...}}
/// Odd cases: categories Kernel / Runtime / Operator before 1.9; tid "stream 7"; ts integer or with
/// three decimals, from an arbitrary base named in baseTimeNanoseconds; the rank in distributedInfo
/// or in the file's name only; every collective kernel called the same; collective metadata on the
/// kernel, on the record_param_comms operator, on the nccl: annotation, or absent.
namespace stepcast::kineto {
struct Options {
  bool allow_partial = false;
  bool keep_host_ops =
      true;  // operators and annotations; without them a trace takes half the memory
};
/// True for the beginning of such a trace (and of other Chrome traces: what a tool's events mean is
/// found out while reading).
bool sniff(std::string_view head);
/// Throws InputError when the file is no such trace, broken off or empty.
RankTrace read_trace(const std::string& path, const Options& options = {});
/// The rank that a file's name states ("rank-3", "rank3", "worker3", ".3.et"), or -1.
int rank_in_name(const std::string& path);
}  // namespace stepcast::kineto
