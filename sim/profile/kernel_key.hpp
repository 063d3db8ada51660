#pragma once
#include <string>

#include "sim/workload/op.hpp"

namespace stepcast {
/// The text under which a measured kernel is stored: two ops with equal keys do the same work on
/// the device.
///   gemm/bf16/m4096/n12288/k4096/b1      a trailing "/grouped" where the batch members are experts
///   attention_forward/bf16/b1/h32/kv8/q4096/k4096/d128/v128/causal    (attention_backward, full)
///   norm/fp32/r1048576/w1048576/forward  bandwidth-bound kinds: bytes read and written, and the
///   pass conv/bf16/n128/c64/h56/w56/o64/f3/s1/g1/forward
/// Fails: collectives have no kernel key; asking for one is our mistake.
std::string kernel_key(const Op& op);
/// Name of a bandwidth-bound kind: "elementwise", "norm" ...
std::string_view text_of_kind(StreamKind kind);
/// "forward", "backward_data" or "backward_weight": recompute does the forward's work, the
/// optimizer counts as forward.
std::string_view text_of_direction(Pass pass);
}  // namespace stepcast
