#include <fmt/format.h>

#include <cmath>

#include "sim/cost/kernel_cost.hpp"
#include "sim/cost/roofline.hpp"

namespace stepcast {
namespace {
/// Flash attention's forward where no table of it exists on this GPU, as a share of the roofline:
/// long causal sequences reach 0.55-0.62 on A100, H100, H200 (AIConfigurator, cuDNN frontend
/// tables).
constexpr double kUnmeasuredUtilisation = 0.55;
/// Backward time over forward time where no curve was measured: 2.5 times the flops at a rate 0.8
/// of the forward's (cuDNN frontend, H200, sequences of 4k to 32k: 2.9-3.3).
constexpr double kUnmeasuredBackwardRatio = 3.1;

/// Measured head dimensions on both sides of the wanted one; equal where it was measured itself or
/// lies outside.
struct HeadDims {
  int below = 0, above = 0;
};
HeadDims measured_head_dims(const CostContext& context, const std::string& kind, double wanted) {
  HeadDims dims;
  for (const auto& [name, lookup] : context.lookups) {
    if (!name.starts_with(kind + "/")) continue;
    const int dim = std::stoi(name.substr(name.rfind('/') + 1));
    if (dim <= wanted && dim > dims.below) dims.below = dim;
    if (dim >= wanted && (dims.above == 0 || dim < dims.above)) dims.above = dim;
  }
  if (dims.below == 0) dims.below = dims.above;
  if (dims.above == 0) dims.above = dims.below;
  return dims;
}
}  // namespace

OpCost attention_cost(const CostContext& context, const AttentionShape& shape, Precision wanted) {
  const Precision precision = supported_precision(context.gpu, wanted);
  AttentionShape forward = shape;
  forward.is_backward = false;
  const Seconds roofline =
      roofline_time(attention_amounts(forward, precision), precision, context.gpu);
  const auto head_dim = static_cast<double>(shape.head_dim_qk);

  // A mask that keeps everything has its own tables where they exist; the causal ones stand in
  // otherwise, and for head dimensions that only they measured: kernels differ more between 80 and
  // 128 than between masks.
  const std::string kind = shape.causal ? "attention_forward" : "attention_forward_full";
  FamilyChoice family;
  HeadDims dims;
  const auto choose = [&](bool needs_dimension) {
    for (const std::string& candidate : {kind, std::string("attention_forward")})
      for (const Precision p : {precision, Precision::bf16, Precision::fp16}) {
        dims = measured_head_dims(context, fmt::format("{}/{}", candidate, text_of(p)), head_dim);
        if (dims.below == 0) continue;
        if (needs_dimension && (head_dim < dims.below || head_dim > dims.above)) continue;
        family.name = fmt::format("{}/{}/", candidate, text_of(p));
        const bool is_16_bit = precision == Precision::bf16 || precision == Precision::fp16;
        family.is_borrowed = candidate != kind || (p != precision && !is_16_bit);
        return;
      }
  };
  choose(true);
  if (family.name.empty()) choose(false);

  OpCost cost;
  if (family.name.empty()) {
    cost.duration =
        roofline / kUnmeasuredUtilisation + Seconds(context.kernels.kernel_floor_us * 1e-6);
    cost.relative_sigma = 0.4;
    cost.is_extrapolated = true;
    cost.nearest_measured = "none: datasheet roofline";
  } else {
    // Context parallelism gives fewer queries than keys: their geometric mean has the same number
    // of pairs.
    const double length =
        std::sqrt(static_cast<double>(shape.query_length) * static_cast<double>(shape.key_length));
    const Features features{length,
                            static_cast<double>(shape.batch) * static_cast<double>(shape.heads),
                            static_cast<double>(shape.heads) /
                                static_cast<double>(std::max<std::int64_t>(1, shape.kv_heads))};
    const std::string below = family.name + std::to_string(dims.below),
                      above = family.name + std::to_string(dims.above);
    const Utilisation low = context.lookups.at(below).at(features);
    Utilisation found = low;
    if (dims.above != dims.below) {
      const Utilisation high = context.lookups.at(above).at(features);
      const double t =
          std::log(head_dim / dims.below) / std::log(static_cast<double>(dims.above) / dims.below);
      found.value = std::exp((1 - t) * std::log(low.value) + t * std::log(high.value));
      found.is_inside = low.is_inside && high.is_inside;
    }
    const bool is_dim_inside = head_dim >= dims.below && head_dim <= dims.above;
    cost.duration = roofline / found.value;
    cost.relative_sigma = sigma_from_mean_error(context.kernels.family(below)->hold_out_error);
    cost.is_extrapolated =
        !found.is_inside || !is_dim_inside || family.is_borrowed || precision != wanted;
    if (cost.is_extrapolated) {
      cost.relative_sigma = extrapolated_sigma(cost.relative_sigma);
      cost.nearest_measured = found.is_inside ? below : found.nearest_measured;
    }
  }
  cost.duration = cost.duration * context.sustained_attention();
  if (context.options.attention_kernel != AttentionKernel::best)
    cost.duration =
        cost.duration *
        context.parameter(
            fmt::format("attention_{}_slowdown", text_of(context.options.attention_kernel)), 1.0);
  if (shape.is_backward) {
    const std::string curve =
        fmt::format("attention_backward_over_forward/{}", shape.causal ? "causal" : "full");
    cost.duration =
        cost.duration * context.factor(curve, static_cast<double>(shape.key_length),
                                       context.factor("attention_backward_over_forward/causal",
                                                      static_cast<double>(shape.key_length),
                                                      kUnmeasuredBackwardRatio));
    cost.relative_sigma =
        std::hypot(cost.relative_sigma, context.parameter("attention_backward_sigma", 0.15));
  }
  return cost;
}
}  // namespace stepcast
