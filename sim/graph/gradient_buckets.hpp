#pragma once
#include <vector>

#include "sim/graph/stage_context.hpp"

namespace stepcast {
/// Gradients that are reduced together, and the moment of the backward at which the last of them
/// exists.
struct GradientBucket {
  GroupKind group = GroupKind::dp;  // dp, or edp for expert parameters
  std::int64_t elements = 0;
  std::size_t complete_after = 0;  // ops of the backward list that must have run
  /// Of the elements, those in weight matrices large enough to pay a rank-r factorisation (m x n ->
  /// r(m + n)), and the elements of the two factors. What is not in such a matrix travels as it is.
  std::int64_t matrix_elements = 0, factor_p = 0, factor_q = 0;
  double hold_s = 0;  // planned buckets: from ready to sent off
};

/// Ops of one chunk's backward in order: per layer, last first, its recomputation and its backward.
/// `only`: keep backward_data (with recomputation) or backward_weight alone, for zero-bubble.
enum class BackwardPart { whole, data, weight };
std::vector<Op> backward_ops(const StageContext& context, const std::vector<int>& layers,
                             BackwardPart part);

/// Buckets of a chunk in the order in which they complete. As in PyTorch DDP and Megatron-LM a
/// bucket closes at the first parameter that takes it to `bucket_bytes` (the first bucket:
/// first_bucket_bytes when given), so a bucket never splits a parameter and one large matrix is a
/// bucket of its own. A layer's parameters are dealt to its weight-gradient ops by the size of the
/// matrix each of them computes; what remains (norms, biases) goes with the last of them.
/// bucket_bytes = 0 makes one bucket per group kind.
std::vector<GradientBucket> gradient_buckets(const StageContext& context,
                                             const std::vector<int>& layers, BackwardPart part,
                                             Bytes bucket_bytes, Bytes first_bucket_bytes);
/// One bucket per tensor: every parameter closes its own.
std::vector<GradientBucket> tensors_of(const StageContext& context, const std::vector<int>& layers,
                                       BackwardPart part);
/// The plan's buckets; its counts add up to the tensors.
std::vector<GradientBucket> planned_buckets(const StageContext& context,
                                            const std::vector<int>& layers, BackwardPart part,
                                            const BucketPlan& plan);
}  // namespace stepcast
