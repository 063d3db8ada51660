#include <fmt/format.h>

#include "sim/cost/kernel_cost.hpp"
#include "sim/cost/roofline.hpp"
#include "sim/profile/kernel_key.hpp"

namespace stepcast {
namespace {
/// Convolution utilisation over that of the plain GEMM of its implicit shape, where no convolution
/// was measured: the gather of the input window and padded tiles cost about a third (DeepBench
/// V100: 38.8 against 60-100 TFLOP/s fp16).
constexpr double kConvOverGemm = 0.65;
/// Backward passes over the forward where not measured themselves: DeepBench V100 fp16
/// medians 38.8, 27.9, 28.3 TFLOP/s.
constexpr double kBackwardDataOverForward = 1.39, kBackwardWeightOverForward = 1.37;
/// A depthwise convolution does 2 f f flops per element and runs at the memory's pace, at about
/// half of it (its window re-reads defeat full-width loads); nothing public measures it on these
/// GPUs, so it is always flagged.
constexpr double kDepthwiseEfficiency = 0.5;
}  // namespace

OpCost conv_cost(const CostContext& context, const ConvShape& shape, Precision wanted, Pass pass) {
  const Precision precision = supported_precision(context.gpu, wanted);
  const KernelAmounts amounts = conv_amounts(shape, precision);
  const Seconds roofline = roofline_time(amounts, precision, context.gpu);
  const bool is_backward = pass == Pass::backward_data || pass == Pass::backward_weight;
  OpCost cost;

  if (shape.groups > 1 && shape.groups == shape.c_in) {
    const Seconds streaming = amounts.bytes / (context.gpu.memory_bandwidth * kDepthwiseEfficiency);
    cost.duration = std::max(streaming, roofline) + Seconds(context.kernels.kernel_floor_us * 1e-6);
    cost.relative_sigma = 0.4;
    cost.is_extrapolated = true;
    cost.nearest_measured = "none: depthwise convolution at half the memory bandwidth";
    return cost;
  }
  const auto features_of = [](const GemmShape& g) {
    return Features{static_cast<double>(g.m) * static_cast<double>(g.batch),
                    static_cast<double>(g.n), static_cast<double>(g.k)};
  };
  const std::string direction(text_of_direction(pass));
  double factor = 1;
  FamilyChoice family = family_for(context, "conv_" + direction, precision);
  Features features = features_of(implicit_gemm(shape, pass));
  if (family.lookup == nullptr && is_backward) {
    family = family_for(context, "conv_forward", precision);
    features = features_of(implicit_gemm(shape, Pass::forward));
    factor = pass == Pass::backward_data ? kBackwardDataOverForward : kBackwardWeightOverForward;
    family.is_borrowed = true;
  }
  if (family.lookup == nullptr) {
    const GemmShape gemm = implicit_gemm(shape, pass);
    cost = gemm_cost(context, gemm, wanted, Pass::forward);
    cost.duration = std::max(cost.duration / kConvOverGemm, roofline);
    cost.relative_sigma = 0.35;
    cost.is_extrapolated = true;
    if (cost.nearest_measured.empty()) cost.nearest_measured = "gemm of the implicit shape";
    return cost;
  }
  const Utilisation found = family.lookup->at(features);
  cost.duration =
      roofline / found.value * factor * context.sustained_gemm(amounts.flops, precision);
  cost.relative_sigma = sigma_from_mean_error(context.kernels.family(family.name)->hold_out_error);
  cost.is_extrapolated = !found.is_inside || family.is_borrowed || precision != wanted;
  if (cost.is_extrapolated) {
    cost.relative_sigma = extrapolated_sigma(cost.relative_sigma);
    cost.nearest_measured = found.is_inside ? family.name : found.nearest_measured;
  }
  return cost;
}
}  // namespace stepcast
