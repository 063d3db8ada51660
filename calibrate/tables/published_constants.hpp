#pragma once
#include "sim/cluster/cluster_spec.hpp"
#include "sim/profile/kernel_profile.hpp"

namespace stepcast {
/// Host issue cost per launch by framework generation.
std::map<std::string, HostFit> published_host_fits();
/// Kinds of bandwidth-bound kernels that no systematic table covers: optimizer, embedding, loss,
/// reduction.
std::vector<BandwidthFit> published_bandwidth(const GpuSpec& gpu, double latency_us);
/// Puts Hopper's backward-over-forward ratios below the shortest sequence of `curve` in front of
/// it.
void prepend_short_sequences(FactorCurve& curve);
/// How much slower older flash kernels are than the ones of the attention tables, by GPU
/// generation.
void set_attention_generations(KernelProfile& kernels, const std::string& generation);
/// Launch gap and overlap slowdowns.
void set_published_constants(KernelProfile& kernels);
}  // namespace stepcast
