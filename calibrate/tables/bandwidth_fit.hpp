#pragma once
#include <string>
#include <vector>

#include "calibrate/tables/table_set.hpp"
#include "sim/cluster/cluster_spec.hpp"
#include "sim/profile/kernel_profile.hpp"

namespace stepcast {

struct BandwidthSample {
  double bytes = 0, time_us = 0;
};

/// Whose time the shortest calls of a table show: the device's, or the host's that timed call by
/// call.
enum class FloorOrigin { device, host };

/// Two lines, time against bytes, by least squares of the relative error: one through the sizes
/// that fit `l2_bytes`, one through the larger ones. The first gives latency and L2 rate, the
/// second the DRAM rate and, by how much higher it starts, the half-rate size. With
/// FloorOrigin::host only the slope is used and `kernel_floor_us` is the latency.
BandwidthFit fit_bandwidth(const std::string& kind, const std::vector<BandwidthSample>& samples,
                           double l2_bytes, FloorOrigin floor, double kernel_floor_us,
                           const std::string& source);
double mean_log_error(const BandwidthFit& fit, const std::vector<BandwidthSample>& samples);

/// The same kernel on another GPU: rates follow the ratio of datasheet bandwidths, latency and
/// shape of the curve stay. The source says that it was transferred.
BandwidthFit transferred(BandwidthFit fit, const GpuSpec& from, const GpuSpec& to, double l2_bytes);

/// elementwise_llm_layers.csv.gz: one op ("add", "rms_norm" ...).
std::vector<BandwidthSample> llm_layer_samples(const CsvTable& table, const std::string& op);
/// quantize_bf16_to_fp8.csv: a streaming cast.
std::vector<BandwidthSample> cast_samples(const CsvTable& table);
/// elementwise_norm_softmax_fp32.csv.gz: `tensors` of rows x columns fp32 move per call; rows above
/// 200 us only.
std::vector<BandwidthSample> fp32_samples(const CsvTable& table, const std::string& op,
                                          int tensors);
/// norm_forward_backward.csv: one library ("cudnn", "pytorch", "torch_compile"); bytes from the
/// reported rate.
std::vector<BandwidthSample> norm_samples(const CsvTable& table, const std::string& library,
                                          const std::string& pass);
/// resnet50 operators: batch norm; forward moves 2 tensors at least, backward 3.
std::vector<BandwidthSample> batch_norm_samples(const CsvTable& table, bool is_backward);
}  // namespace stepcast
