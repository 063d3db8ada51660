#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "sim/cost/cost_model.hpp"
#include "sim/cost/utilisation_lookup.hpp"

/// One function per kind of kernel: amounts -> seconds from a profile. CostModel dispatches,
/// memoises and adds the host.
namespace stepcast {

/// What the per-kind functions see. Borrowed from the CostModel, which outlives every call.
struct CostContext {
  const KernelProfile& kernels;
  const GpuSpec& gpu;
  const CostOptions& options;
  std::map<std::string, UtilisationLookup> lookups;  // one per family, by name
  double bandwidth_scale =
      1;  // memory bandwidth of the scenario's GPU over that of the calibrated one

  double parameter(const std::string& name, double fallback) const;
  double factor(const std::string& curve, double x, double fallback) const;
  /// 1 for isolated (burst) times; else training-loop time over burst time for a GEMM of so many
  /// flops. 8-bit products have a curve of their own where one was fitted.
  double sustained_gemm(Flops flops, Precision precision) const;
  double sustained_attention() const {
    return options.is_burst ? 1.0 : kernels.sustained_factor_attention * options.slowest_board;
  }
};

/// The family that answers for `kind` at this precision, and whether it was measured at that
/// precision. bf16 and fp16 share tensor cores and rates, so either stands for the other; any other
/// substitution is borrowed and flagged.
struct FamilyChoice {
  const UtilisationLookup* lookup = nullptr;
  bool is_borrowed = false;
  std::string name;
};
FamilyChoice family_for(const CostContext& context, const std::string& kind, Precision precision,
                        const std::string& suffix = "");

OpCost gemm_cost(const CostContext& context, const GemmShape& shape, Precision precision,
                 Pass pass);
OpCost attention_cost(const CostContext& context, const AttentionShape& shape, Precision precision);
OpCost stream_cost(const CostContext& context, const StreamShape& shape, Pass pass, int launches);
OpCost conv_cost(const CostContext& context, const ConvShape& shape, Precision precision,
                 Pass pass);
/// Least time of bandwidth-bound work: device memory, or the L2 rate where the bytes fit the fit's
/// L2.
Seconds stream_roofline(const CostContext& context, const StreamShape& shape);
/// Host-thread time to issue one op: launches times the framework's cost per launch.
Seconds host_issue_time(const CostContext& context, const Op& op);
int launches_of(const CostOptions& options, const Op& op);

/// Relative 1-sigma from a mean absolute error: a normal's mean |x| is 0.798 sigma.
constexpr double sigma_from_mean_error(double mean_error) { return mean_error / 0.798; }
/// Outside the measured range the edge is held; nothing measured bounds the error there, so it
/// counts as three times that of an unseen shape inside, and at least a quarter. It is no more than
/// that of work of which nothing was measured (the datasheet roofline's), unless shapes inside
/// already miss by more: an edge knows more than nothing.
constexpr double kUnmeasuredSigma = 0.4;
constexpr double extrapolated_sigma(double inside) {
  return std::clamp(3 * inside, 0.25, std::max(inside, kUnmeasuredSigma));
}
}  // namespace stepcast
