#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/cost/kernel_cost.hpp"
#include "sim/cost/roofline.hpp"

namespace stepcast {
namespace {
/// Share of the datasheet roofline taken where no GEMM of any precision was measured on this GPU:
/// the median over large bf16 shapes of A100, H100, H200, B200 lies at 0.66-0.83 of the peak
/// (AIConfigurator tables).
constexpr double kUnmeasuredUtilisation = 0.7;

/// A batched product whose rows do not begin on 16 bytes cannot be read in the vectors that
/// tensor-core kernels want. Attention with head dimension 108 or 150 (216 and 300 bytes a row)
/// cost BLOOM's candidates 42 and 38 % of the whole step against 216 and 144 (bigscience@9e64edec
/// train/tr11-176B-ml/chronicles-prequel.md, cuBLAS 11 on A100): 8 and 13 times its products, alike
/// in two pairs of rows each.
double misalignment_factor(const GemmShape& shape, Precision precision) {
  if (shape.batch <= 1 || shape.grouped || precision == Precision::fp32) return 1;
  const std::int64_t bytes = bytes_per_element(precision), row = std::gcd(shape.k, shape.n) * bytes;
  if (row % 16 == 0) return 1;
  return row % 8 == 0 ? 8 : 13;
}

/// What kernels without tensor cores reach of the fp32 peak on small products, assumed. A library
/// that finds no fast kernel takes such a one, so misalignment costs no more than all its flops
/// there: a recommender's 27 x 27 products of 128 columns move bytes and hardly compute.
constexpr double kPlainKernelShare = 0.25;

Seconds misaligned_time(const CostContext& context, const GemmShape& shape, Precision precision,
                        Flops flops, Seconds aligned) {
  const double factor = misalignment_factor(shape, precision);
  const double plain = kPlainKernelShare * context.gpu.peak(Precision::fp32).value;
  if (factor == 1 || plain <= 0) return aligned * factor;
  return std::min(aligned * factor, aligned + Seconds(flops.value / plain));
}
}  // namespace

OpCost gemm_cost(const CostContext& context, const GemmShape& shape, Precision wanted, Pass pass) {
  const Precision precision = supported_precision(context.gpu, wanted);
  const KernelAmounts amounts = gemm_amounts(shape, precision);
  const Seconds roofline = roofline_time(amounts, precision, context.gpu);
  const FamilyChoice family = family_for(context, "gemm", precision);

  OpCost cost;
  if (family.lookup == nullptr) {
    cost.duration =
        roofline / kUnmeasuredUtilisation + Seconds(context.kernels.kernel_floor_us * 1e-6);
    cost.relative_sigma = 0.4;
    cost.is_extrapolated = true;
    cost.nearest_measured = "none: datasheet roofline";
    return cost;
  }
  // A batched or grouped launch fills the device like one GEMM with the members stacked along m.
  const auto m = static_cast<double>(shape.m) * static_cast<double>(shape.batch);
  const Utilisation found =
      family.lookup->at({m, static_cast<double>(shape.n), static_cast<double>(shape.k)});
  cost.duration = roofline / found.value;
  cost.relative_sigma = sigma_from_mean_error(context.kernels.family(family.name)->hold_out_error);

  double factor = context.sustained_gemm(amounts.flops, precision);
  const double flops = amounts.flops.value;
  if (shape.grouped) {
    factor *= context.factor(
        fmt::format("grouped_gemm/{}", pass == Pass::backward_data     ? "backward_data"
                                       : pass == Pass::backward_weight ? "backward_weight"
                                                                       : "forward"),
        static_cast<double>(pass == Pass::backward_weight ? shape.k : shape.m), 1.0);
  } else if (shape.batch > 1) {
    factor *= context.factor("batched_gemm", flops, 1.0);
  } else if (pass == Pass::backward_data || pass == Pass::backward_weight) {
    factor *= context.factor(
        pass == Pass::backward_data ? "gemm_backward_data" : "gemm_backward_weight", flops, 1.0);
  }
  cost.duration = misaligned_time(context, shape, precision, amounts.flops, cost.duration * factor);

  cost.is_extrapolated = !found.is_inside || family.is_borrowed || precision != wanted;
  if (cost.is_extrapolated) {
    cost.relative_sigma = extrapolated_sigma(cost.relative_sigma);
    cost.nearest_measured = found.is_inside ? family.name : found.nearest_measured;
  }
  return cost;
}
}  // namespace stepcast
