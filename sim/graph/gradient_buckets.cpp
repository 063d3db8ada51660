#include "sim/graph/gradient_buckets.hpp"

#include <algorithm>
#include <array>

#include "sim/core/assert.hpp"

namespace stepcast {
namespace {

bool belongs_to(const Op& op, BackwardPart part) {
  if (part == BackwardPart::whole) return true;
  return (op.pass == Pass::backward_weight) == (part == BackwardPart::weight);
}
bool is_expert_op(const Op& op) {
  const auto* gemm = std::get_if<GemmShape>(&op.shape);
  return (gemm != nullptr && gemm->grouped) || op.name.starts_with("expert");
}
struct Matrix {
  std::int64_t rows = 0, columns = 0, count = 0;
  std::int64_t elements() const { return rows * columns * count; }
};
/// The weight matrix whose gradient an op computes; empty for other ops.
Matrix gradient_matrix(const Op& op) {
  if (op.pass != Pass::backward_weight) return {};
  if (const auto* gemm = std::get_if<GemmShape>(&op.shape)) return {gemm->m, gemm->n, gemm->batch};
  if (const auto* conv = std::get_if<ConvShape>(&op.shape))
    return {conv->c_out,
            conv->c_in / std::max<std::int64_t>(conv->groups, 1) * conv->kernel * conv->kernel, 1};
  return {};
}

/// Parameters whose gradient exists after a given op of the backward list.
struct Ready {
  std::size_t op = 0;
  GroupKind group = GroupKind::dp;
  std::int64_t elements = 0;
  Matrix matrix;
};

/// Deals `parameters` of a layer to its weight-gradient ops ([first, last) of `ops`) by matrix
/// size.
void deal(const std::vector<Op>& ops, std::size_t first, std::size_t last, bool experts,
          std::int64_t parameters, std::vector<Ready>& ready) {
  if (parameters <= 0) return;
  const GroupKind group = experts ? GroupKind::edp : GroupKind::dp;
  std::vector<std::size_t> at;
  double matrices = 0;
  for (std::size_t i = first; i < last; ++i)
    if (gradient_matrix(ops[i]).elements() > 0 && is_expert_op(ops[i]) == experts) {
      at.push_back(i);
      matrices += static_cast<double>(gradient_matrix(ops[i]).elements());
    }
  // A layer without such an op (embedding table, custom layer) has its gradients when its last op
  // ends.
  if (at.empty()) {
    const auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(parameters)));
    ready.push_back({last, group, parameters, {side, side, 1}});
    return;
  }
  std::int64_t left = parameters;
  for (std::size_t i : at) {
    const Matrix matrix = gradient_matrix(ops[i]);
    const double share = std::min(1.0, static_cast<double>(parameters) / matrices);
    const std::int64_t mine =
        i == at.back()
            ? left
            : std::min(left,
                       static_cast<std::int64_t>(static_cast<double>(matrix.elements()) * share));
    ready.push_back({i + 1, group, mine, matrix});
    left -= mine;
  }
}
}  // namespace

std::vector<Op> backward_ops(const StageContext& context, const std::vector<int>& layers,
                             BackwardPart part) {
  std::vector<Op> ops;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    const LayerWork& work = context.kind(*layer);
    if (part != BackwardPart::weight)
      ops.insert(ops.end(), work.recompute.begin(), work.recompute.end());
    for (const Op& op : work.backward)
      if (belongs_to(op, part)) ops.push_back(op);
  }
  return ops;
}

std::vector<GradientBucket> gradient_buckets(const StageContext& context,
                                             const std::vector<int>& layers, BackwardPart part,
                                             Bytes bucket_bytes, Bytes first_bucket_bytes) {
  std::vector<Op> ops;
  std::vector<Ready> ready;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    const LayerWork& work = context.kind(*layer);
    const std::size_t first = ops.size();
    const std::vector<Op> mine = backward_ops(context, {*layer}, part);
    ops.insert(ops.end(), mine.begin(), mine.end());
    const std::size_t from = ready.size();
    deal(ops, first, ops.size(), true, work.expert_parameters, ready);
    deal(ops, first, ops.size(), false, work.dense_parameters, ready);
    std::stable_sort(ready.begin() + static_cast<std::ptrdiff_t>(from), ready.end(),
                     [](const Ready& a, const Ready& b) { return a.op < b.op; });
  }

  const std::int64_t rank = context.scenario().compression.rank;
  std::vector<GradientBucket> buckets;
  std::array<GradientBucket, 2> open{};  // dense, expert
  open[1].group = GroupKind::edp;
  const auto close = [&](GradientBucket& bucket) {
    if (bucket.elements > 0) buckets.push_back(bucket);
    bucket = GradientBucket{.group = bucket.group};
  };
  std::array<bool, 2> is_first{true, true};
  for (const Ready& r : ready) {
    const std::size_t which = r.group == GroupKind::edp ? 1 : 0;
    GradientBucket& bucket = open[which];
    bucket.elements += r.elements;
    bucket.complete_after = std::max(bucket.complete_after, r.op);
    const std::int64_t p = r.matrix.rows * r.matrix.count * rank,
                       q = r.matrix.columns * r.matrix.count * rank;
    const std::int64_t in_matrix = std::min(r.elements, r.matrix.elements());
    if (p + q < in_matrix) {
      bucket.matrix_elements += in_matrix;
      bucket.factor_p += p;
      bucket.factor_q += q;
    }
    const Bytes limit =
        is_first[which] && first_bucket_bytes.value > 0 ? first_bucket_bytes : bucket_bytes;
    if (limit.value > 0 && bucket.elements * context.gradient_element_bytes() >= limit.value) {
      is_first[which] = false;
      close(bucket);
    }
  }
  for (GradientBucket& bucket : open) close(bucket);
  std::stable_sort(buckets.begin(), buckets.end(),
                   [](const GradientBucket& a, const GradientBucket& b) {
                     return a.complete_after < b.complete_after;
                   });
  return buckets;
}

std::vector<GradientBucket> tensors_of(const StageContext& context, const std::vector<int>& layers,
                                       BackwardPart part) {
  return gradient_buckets(context, layers, part, Bytes(1), Bytes(0));
}

std::vector<GradientBucket> planned_buckets(const StageContext& context,
                                            const std::vector<int>& layers, BackwardPart part,
                                            const BucketPlan& plan) {
  const std::vector<GradientBucket> tensors = tensors_of(context, layers, part);
  std::vector<GradientBucket> buckets;
  std::size_t next = 0;
  for (std::size_t b = 0; b < plan.tensors.size(); ++b) {
    GradientBucket bucket;
    for (int i = 0; i < plan.tensors[b]; ++i, ++next) {
      STEPCAST_ASSERT(next < tensors.size(), "a plan is made from the same tensors");
      const GradientBucket& tensor = tensors[next];
      bucket.group = tensor.group;
      bucket.elements += tensor.elements;
      bucket.complete_after = std::max(bucket.complete_after, tensor.complete_after);
      bucket.matrix_elements += tensor.matrix_elements;
      bucket.factor_p += tensor.factor_p;
      bucket.factor_q += tensor.factor_q;
    }
    bucket.hold_s = plan.hold_s[b];
    buckets.push_back(bucket);
  }
  STEPCAST_ASSERT(next == tensors.size(), "a plan takes every tensor");
  return buckets;
}
}  // namespace stepcast
