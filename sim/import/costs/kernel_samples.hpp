#pragma once
#include <span>
#include <string>
#include <vector>

#include "sim/import/common/rank_trace.hpp"
#include "sim/profile/profile.hpp"

/// Times of kernels by shape out of traces: what a cost profile takes over as measured.
namespace stepcast {

struct KernelSample {
  std::string key;  // kernel_key of the op
  Op op;
  std::string kernel;           // name of the longest kernel that ran for it
  std::vector<double> seconds;  // of the op's kernels, one entry a call
  double median_s() const;
};
/// Samples by key, those with most time first. An operator's time is that of all kernels launched
/// inside it and inside no smaller operator with a shape. Calls in which a collective ran beside
/// the kernel on the GPU are left out: they measure contention.
std::vector<KernelSample> kernel_samples(std::span<const RankTrace> traces, Anomalies& anomalies);

/// Least transfer of each collective inside one node by size, where every rank of the group was
/// recorded.
std::vector<CollectiveCurve> collective_curves(std::span<const RankTrace> traces);

/// Host time from one launch to the next while the device had work waiting, median over all; 0
/// where nothing shows it.
double host_seconds_per_launch(std::span<const RankTrace> traces);

/// The bundled profile of a GPU by the name that its driver gives ("NVIDIA H100 80GB HBM3" ->
/// h100-sxm5-80g), or "" when none fits.
std::string bundled_profile_of(const std::string& device);
/// Reads a profile by name or path, which stands behind `option`. Throws InputError naming the
/// nearest.
Profile base_profile(const std::string& name_or_path, const char* option = "--base");
/// `base` with the samples as measured kernels (and curves where it has none), renamed, with its
/// sources extended.
Profile extended(Profile base, std::span<const KernelSample> samples,
                 std::span<const CollectiveCurve> curves, const std::string& name,
                 const std::string& source);
/// Table: key, calls, median, what the base expects, ratio.
std::string text_of(std::span<const KernelSample> samples, const Profile& base, std::size_t most);
}  // namespace stepcast
