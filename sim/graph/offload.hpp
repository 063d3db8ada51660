#pragma once
#include "sim/graph/gradient_buckets.hpp"
#include "sim/graph/program_writer.hpp"
#include "sim/graph/stage_context.hpp"

/// Optimizer state (and parameters) in host memory: gradients go down as they are reduced, the CPU
/// updates its shard, the parameters come up. Source: Ren et al., "ZeRO-Offload", USENIX ATC 2021;
/// Rajbhandari et al., "ZeRO-Infinity", SC 2021.
namespace stepcast {
/// Parameters that the CPUs of one node update per second with vectorised Adam: 30 bytes each (fp32
/// state, gradient, parameter read and written, fp16 copy) at 120 GB/s of host memory, which is
/// assumed: half of what two sockets with six channels of DDR4-2666 carry (256 GB/s). Whole steps
/// that are mostly this update leave at least 1.3e9/s: 2.38 s for 3.1e9 parameters with the ranks
/// bound to cores (deepspeedai/DeepSpeed pull request 7474).
inline constexpr double kCpuUpdate_parameters_per_s = 4e9;

/// Copies this rank's share of a reduced bucket to the host, beside the backward. Nothing without
/// offload.
void copy_gradients_to_host(const StageContext& context, ProgramWriter& writer,
                            const GradientBucket& bucket);
/// CPU update of `parameters` of this rank, pipelined with the copy of the new parameters to the
/// GPU.
std::vector<Op> update_on_host(const StageContext& context, std::int64_t parameters);
/// Copy of this rank's shard of `parameters` from the host before they are gathered; -1 when
/// parameters stay on the GPU.
int fetch_parameters(const StageContext& context, ProgramWriter& writer, std::int64_t parameters,
                     const std::vector<int>& after);
}  // namespace stepcast
