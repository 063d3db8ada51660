#pragma once
#include <string>
#include <string_view>

#include "sim/import/common/rank_trace.hpp"

/// Timelines of other tools in Chrome JSON: what an event is follows from the names of its process
/// and thread.
///   Horovod     one process a tensor:      B NEGOTIATE_ALLREDUCE .. E   B ALLREDUCE (QUEUE,
///   MEMCPY_IN_FUSION_BUFFER, NCCL_ALLREDUCE, ...) E
///               tensors that were fused show the same NCCL_ALLREDUCE; negotiation lasts from the
///               first rank that is ready to the last
///   TensorFlow  /job:worker/.../device:GPU:0/stream:13 Compute (1.x: stream:all repeats the
///   others)
///               process /device:GPU:0 with threads "Stream #13(Compute)", Steps, XLA Modules, XLA
///               Ops, name scopes (2.x, JAX, XProf)
///   Both        bare list that is never closed, as tools that were killed leave it
namespace stepcast::chrome_timeline {
/// True for the beginning of such a file and not of a PyTorch one.
bool sniff(std::string_view head);
struct Options {
  bool allow_partial = false;
};
/// Throws InputError when the file is no Chrome JSON, broken off or empty.
RankTrace read_timeline(const std::string& path, const Options& options = {});
}  // namespace stepcast::chrome_timeline
