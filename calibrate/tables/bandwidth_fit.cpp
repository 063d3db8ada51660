#include "calibrate/tables/bandwidth_fit.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace stepcast {
namespace {
double predicted_us(const BandwidthFit& fit, double bytes) {
  const bool is_l2 = bytes <= fit.l2_bytes && fit.l2_GBps > 0;
  return fit.latency_us + (is_l2 ? bytes / (fit.l2_GBps * 1e3)
                                 : (bytes + fit.half_rate_bytes) / (fit.dram_GBps * 1e3));
}

/// t = intercept + slope * bytes with least sum of ((predicted - t) / t)^2, so that every size
/// counts alike. A fixed intercept above 0 leaves the slope free only.
struct Line {
  double intercept_us = 0, us_per_byte = 0;
};
Line relative_least_squares(const std::vector<BandwidthSample>& samples,
                            double fixed_intercept_us) {
  // Normal equations of a + b x = t with weights 1 / t^2.
  double w0 = 0, w1 = 0, w2 = 0, wt = 0, wxt = 0;
  for (const BandwidthSample& s : samples) {
    const double w = 1 / (s.time_us * s.time_us);
    w0 += w;
    w1 += w * s.bytes;
    w2 += w * s.bytes * s.bytes;
    wt += w * s.time_us;
    wxt += w * s.bytes * s.time_us;
  }
  if (fixed_intercept_us > 0) return {fixed_intercept_us, (wxt - fixed_intercept_us * w1) / w2};
  const double determinant = w0 * w2 - w1 * w1;
  const Line line{(wt * w2 - wxt * w1) / determinant, (w0 * wxt - w1 * wt) / determinant};
  return line.intercept_us >= 0 ? line : Line{0, wxt / w2};
}
}  // namespace

double mean_log_error(const BandwidthFit& fit, const std::vector<BandwidthSample>& samples) {
  double sum = 0;
  for (const BandwidthSample& s : samples)
    sum += std::abs(std::log(predicted_us(fit, s.bytes) / s.time_us));
  return sum / static_cast<double>(samples.size());
}

BandwidthFit fit_bandwidth(const std::string& kind, const std::vector<BandwidthSample>& samples,
                           double l2_bytes, FloorOrigin floor, double kernel_floor_us,
                           const std::string& source) {
  std::vector<BandwidthSample> cached, streamed;
  for (const BandwidthSample& s : samples) (s.bytes <= l2_bytes ? cached : streamed).push_back(s);
  BandwidthFit fit;
  fit.kind = kind;
  fit.source = source;
  fit.latency_us = kernel_floor_us;
  // Two points make a line, but a rate wants a range of sizes behind it.
  constexpr std::size_t kLeastRows = 6;
  if (floor == FloorOrigin::device && cached.size() >= kLeastRows) {
    const Line line = relative_least_squares(cached, 0);
    fit.latency_us = std::max(0.5, line.intercept_us);
    fit.l2_GBps = 1 / relative_least_squares(cached, fit.latency_us).us_per_byte / 1e3;
    fit.l2_bytes = l2_bytes;
  }
  // Just above the cache part of the bytes still hits it; the DRAM line is drawn through what is
  // clearly larger.
  constexpr double kClearlyLarger = 2;
  std::vector<BandwidthSample> large;
  for (const BandwidthSample& s : streamed)
    if (s.bytes > kClearlyLarger * l2_bytes) large.push_back(s);
  if (large.size() >= kLeastRows)
    streamed = large;
  else if (streamed.size() < kLeastRows)
    streamed = samples;
  Line line = relative_least_squares(streamed, 0);
  // A host's floor says nothing of the device; a negative intercept is noise: the line then starts
  // at the kernel's latency.
  if (floor == FloorOrigin::device && line.intercept_us < fit.latency_us)
    line = relative_least_squares(streamed, fit.latency_us);
  fit.dram_GBps = 1 / line.us_per_byte / 1e3;
  if (floor == FloorOrigin::device)
    fit.half_rate_bytes = std::max(0.0, (line.intercept_us - fit.latency_us) / line.us_per_byte);
  if (fit.l2_GBps > 0)
    fit.l2_GBps =
        std::max(fit.l2_GBps, fit.dram_GBps);  // the cache is no slower than what it caches
  return fit;
}

BandwidthFit transferred(BandwidthFit fit, const GpuSpec& from, const GpuSpec& to,
                         double l2_bytes) {
  const double ratio = to.memory_bandwidth / from.memory_bandwidth;
  fit.l2_GBps *= ratio;
  fit.dram_GBps *= ratio;
  fit.l2_bytes = fit.l2_GBps > 0 ? l2_bytes : 0;
  fit.source += "; transferred from " + from.name + " by the ratio of datasheet bandwidths";
  return fit;
}

std::vector<BandwidthSample> llm_layer_samples(const CsvTable& table, const std::string& op) {
  std::vector<BandwidthSample> samples;
  for (std::size_t row = 0; row < table.rows(); ++row)
    if (table.text(row, "op") == op)
      if (const auto bytes = table.number(row, "bytes_moved_assumed"),
          t = table.number(row, "time_us_median");
          bytes && t && *t > 0)
        samples.push_back({*bytes, *t});
  return samples;
}
std::vector<BandwidthSample> cast_samples(const CsvTable& table) {
  std::vector<BandwidthSample> samples;
  for (std::size_t row = 0; row < table.rows(); ++row)
    if (const auto bytes = table.number(row, "bytes_moved"), t = table.number(row, "time_us");
        bytes && t && *t > 0)
      samples.push_back({*bytes, *t});
  return samples;
}
std::vector<BandwidthSample> fp32_samples(const CsvTable& table, const std::string& op,
                                          int tensors) {
  constexpr double kHostFloorCut_us =
      200;  // calls are timed one at a time with 25-100 us of host in each
  std::vector<BandwidthSample> samples;
  for (std::size_t row = 0; row < table.rows(); ++row)
    if (table.text(row, "op") == op)
      if (const auto r = table.number(row, "rows"), c = table.number(row, "columns"),
          t = table.number(row, "time_us");
          r && c && t && *t > kHostFloorCut_us)
        samples.push_back({4.0 * tensors * *r * *c, *t});
  return samples;
}
std::vector<BandwidthSample> norm_samples(const CsvTable& table, const std::string& library,
                                          const std::string& pass) {
  std::vector<BandwidthSample> samples;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.text(row, "library") != library || table.text(row, "pass") != pass) continue;
    const auto t = table.number(row, "time_us"), rate = table.number(row, "gb_per_s_reported");
    if (t && rate && *t >= 10)
      samples.push_back({*rate * 1e3 * *t, *t});  // times are rounded to 1 us
  }
  return samples;
}
std::vector<BandwidthSample> batch_norm_samples(const CsvTable& table, bool is_backward) {
  std::vector<BandwidthSample> samples;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.text(row, "operator") !=
        (is_backward ? "CudnnBatchNormBackward0" : "aten::batch_norm"))
      continue;
    std::istringstream shape(table.text(row, "input_shapes"));
    double elements = 1, extent = 0;
    for (char separator = 'x'; separator == 'x' && shape >> extent; shape >> separator)
      elements *= extent;
    // Forward: read and write; backward: read the input and the gradient, write one. The second
    // read of the statistics pass is part of the efficiency, since the op's amounts count each
    // tensor once.
    samples.push_back(
        {4 * elements * (is_backward ? 3 : 2), table.number(row, "time_us").value_or(0)});
  }
  std::erase_if(samples, [](const BandwidthSample& s) { return !(s.time_us >= 10); });
  return samples;
}
}  // namespace stepcast
