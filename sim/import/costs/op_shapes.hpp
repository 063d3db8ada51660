#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "sim/import/common/rank_trace.hpp"
#include "sim/workload/op.hpp"

namespace stepcast {
/// "[[8, 1024], [], [1]]" -> {{8, 1024}, {}, {1}}. A list of tensors in one place gives an empty
/// entry there.
std::vector<std::vector<std::int64_t>> dimensions_in(std::string_view text);
/// "[\"float\", \"Scalar\"]" -> texts, in order.
std::vector<std::string> texts_in(std::string_view list);

/// The shape of what a framework operator computes, in the terms of a cost profile. Nothing: an
/// operator without such a kernel, or one whose arguments do not say enough (no concrete inputs:
/// stride and mask unknown; variable sequence lengths).
///   mm, addmm, bmm, baddbmm, linear, _scaled_mm                   GEMM, m = rows of the first
///   factor cudnn_convolution, miopen_convolution, convolution_backward   convolution; a backward's
///   pass is told by its kernel _flash_attention_*, _scaled_dot_product_*_attention*,
///   flash_attn::*, _efficient_attention_*   fused attention
std::optional<Op> costed_op(std::string_view name, const OpShape& shape, std::string_view kernel);
}  // namespace stepcast
