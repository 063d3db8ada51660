#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "sim/import/common/rank_trace.hpp"

/// Which collective a kernel, annotation or metadata text means. Names changed over the years:
///   ncclAllReduceRingLLKernel_sum_f32 (2.4), ncclKernel_AllReduce_RING_LL_Sum_float (2.7),
///   ncclDevKernel_AllReduce_Sum_f32_RING_LL (2.19), ncclKernel_Generic, ncclDevKernel_Generic
///   (RCCL: every collective), msccl*, rccl*, oneccl_*; nccl:all_reduce, gloo:..., mpi:...
namespace stepcast {
/// True for a kernel of a communication library.
bool is_communication_kernel(std::string_view name);
/// The collective named in a text: kernel name, "nccl:_all_gather_base", "allreduce",
/// "c10d::alltoall_base_". `known_word` says whether any collective's word was found, also where
/// the profile has no model for it (reduce, gather, scatter, barrier).
std::optional<Collective> collective_named_in(std::string_view text, bool* known_word = nullptr);
/// Bytes of one element by PyTorch's names ("float", "c10::BFloat16", "BFloat16", "Float8_e4m3fn",
/// "unsigned char"); 0 = unknown.
int element_bytes(std::string_view dtype);
/// S of nccl-tests from a rank's own counts: all_gather counts the gathered buffer, reduce_scatter
/// the input, others the larger.
std::int64_t nccl_tests_bytes(std::optional<Collective> collective, std::int64_t in_elements,
                              std::int64_t out_elements, int element_size, int group_size);
}  // namespace stepcast
