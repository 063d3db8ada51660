#include "sim/cost/kernel_cost.hpp"
#include "sim/profile/kernel_key.hpp"

namespace stepcast {
namespace {
/// Share of the memory bandwidth a streaming kernel reaches where none was measured on this GPU:
/// copies and casts reach 0.83-0.93 on A100, H100, H200, B200 (cast tables, STREAM), framework
/// kernels less.
constexpr double kUnmeasuredEfficiency = 0.75;
/// A fit of a few parameters to one kind of kernel: its spread over sizes and kernels of the kind.
constexpr double kStreamSigma = 0.15;

/// The fit of this kind under the stated fusion, else of the kind, else of plain elementwise work.
const BandwidthFit* fit_for(const CostContext& context, StreamKind kind) {
  const std::string name(text_of_kind(kind));
  if (context.options.fusion != Fusion::fused)
    if (const auto* fit =
            context.kernels.bandwidth_of(name + "/" + std::string(text_of(context.options.fusion))))
      return fit;
  if (const auto* fit = context.kernels.bandwidth_of(name)) return fit;
  return context.kernels.bandwidth_of("elementwise");
}
}  // namespace

Seconds stream_roofline(const CostContext& context, const StreamShape& shape) {
  const Bytes bytes = shape.read + shape.written;
  BytesPerSecond rate = context.gpu.memory_bandwidth;
  if (const BandwidthFit* fit = fit_for(context, shape.kind))
    if (static_cast<double>(bytes.value) <= fit->l2_bytes)
      rate.value = std::max(rate.value, fit->l2_GBps * 1e9 * context.bandwidth_scale);
  return bytes / rate;
}

OpCost stream_cost(const CostContext& context, const StreamShape& shape, Pass pass, int launches) {
  const Bytes moved = shape.read + shape.written;
  const auto bytes = static_cast<double>(moved.value);
  const BandwidthFit* fit = fit_for(context, shape.kind);
  OpCost cost;
  if (fit == nullptr) {
    cost.duration = moved / (context.gpu.memory_bandwidth * kUnmeasuredEfficiency) +
                    Seconds(launches * context.kernels.kernel_floor_us * 1e-6);
    cost.relative_sigma = 0.4;
    cost.is_extrapolated = true;
    cost.nearest_measured = "none: datasheet bandwidth";
    return cost;
  }
  const double dram = fit->dram_GBps * 1e9 * context.bandwidth_scale,
               l2 = fit->l2_GBps * 1e9 * context.bandwidth_scale;
  double streaming_s =
      (bytes + fit->half_rate_bytes) / dram;  // = bytes / (dram * bytes / (bytes + half))
  if (bytes <= fit->l2_bytes && l2 > 0) streaming_s = bytes / l2;
  if (bytes <= 0) streaming_s = 0;
  const bool is_backward = pass == Pass::backward_data || pass == Pass::backward_weight;
  if (is_backward) streaming_s *= fit->backward_factor;
  cost.duration = Seconds(launches * fit->latency_us * 1e-6 + streaming_s);
  cost.relative_sigma = kStreamSigma;
  return cost;
}
}  // namespace stepcast
