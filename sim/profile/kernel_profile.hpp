#pragma once
#include <array>
#include <map>
#include <string>
#include <vector>

#include "sim/io/json_fwd.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/workload/op.hpp"

namespace stepcast {

/// Utilisation of a kernel family at one shape: roofline time / measured time, in (0, 1].
/// `features` are the family's coordinates in log2 space (GEMM: m, n, k).
struct UtilisationPoint { std::array<float, 4> features{}; float utilisation = 0; };
/// One family: "gemm/bf16", "attention_forward/bf16/128" ...
struct KernelFamily {
  std::string name;
  std::vector<std::string> feature_names;
  std::vector<UtilisationPoint> points;
  double hold_out_error = 0;  // mean |error| on shapes left out of the fit; the 1-sigma of an unseen shape
  std::string source;
};
/// A kernel measured on the user's own machine; an equal shape returns exactly this time.
struct MeasuredKernel { std::string key; Seconds median, q25, q75; };

/// Bandwidth-bound kernels of one kind: seconds = latency + bytes / rate, piecewise by where the bytes live.
struct BandwidthFit {
  std::string kind;  // StreamKind text
  double latency_us = 2.5, l2_GBps = 0, dram_GBps = 0;
  double l2_bytes = 0;       // below: the l2 rate
  double half_rate_bytes = 0;  // DRAM rate is reached as bytes / (bytes + half_rate_bytes)
  double backward_factor = 1;  // of a backward kernel's time per byte
  std::string source;
};
/// What an op costs the host thread that issues it, per launch, by how the framework issues work.
struct HostFit { double eager_us = 0, fused_us = 0, graph_us = 0; std::string source; };

struct KernelProfile {
  std::vector<KernelFamily> families;
  std::vector<MeasuredKernel> measured;
  std::vector<BandwidthFit> bandwidth;
  std::map<std::string, HostFit> host;        // by framework generation: "pytorch-2020", "megatron", "jax" ...
  double sustained_factor_gemm = 1.0;         // training-loop time / burst micro-benchmark time
  double sustained_factor_attention = 1.0;
  double kernel_floor_us = 2.5;               // shortest kernel, graph-launched
  double launch_gap_us = 1.0;                 // idle between dependent kernels of one stream
  double overlap_slowdown_compute = 1.2;      // compute time factor while a collective runs on the same GPU
  double overlap_slowdown_comm = 1.0;
  /// More fitted parameters by name (unit in the name), documented in scenarios/profiles/README.md.
  std::map<std::string, double> parameters;
};
KernelProfile read_kernel_profile(ObjectReader reader);
Json json_of(const KernelProfile& profile);
}  // namespace stepcast
