#pragma once
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/io/json_fwd.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/workload/op.hpp"

namespace stepcast {

/// Utilisation of a kernel family at one shape: roofline time / measured time, in (0, 1].
/// `features` are the family's coordinates in log2 space (GEMM: m, n, k).
struct UtilisationPoint {
  std::array<float, 4> features{};
  float utilisation = 0;
};
/// Utilisation on a rectangular grid of shapes; between nodes its logarithm is linear in the
/// logarithms of the axes.
struct UtilisationGrid {
  std::vector<std::vector<double>>
      axes;  // one per feature, natural units, rising, at least two nodes each
  std::vector<float> utilisation;  // row-major, the last feature fastest
};
/// One family: "gemm/bf16", "attention_forward/bf16/128" ... It holds a grid where the measured
/// shapes fill one, else points.
struct KernelFamily {
  std::string name;
  std::vector<std::string> feature_names;
  std::vector<double> feature_weights;  // of a doubling of each feature in the distance between
                                        // shapes; empty: all 1
  std::optional<UtilisationGrid> grid;
  std::vector<UtilisationPoint> points;
  double hold_out_error =
      0;  // mean |error| on shapes left out of the fit; sets the 1-sigma of an unseen shape
  std::string source;
};
/// A kernel measured on the user's own machine; an equal shape returns exactly this time.
struct MeasuredKernel {
  std::string key;
  Seconds median, q25, q75;
};  // key: see kernel_key.hpp

/// Bandwidth-bound kernels of one kind: seconds = latency + bytes / rate, piecewise by where the
/// bytes live.
struct BandwidthFit {
  std::string kind;  // StreamKind text, with "/eager" or "/compiled" behind it where that differs
                     // from fused kernels
  double latency_us = 2.5, l2_GBps = 0, dram_GBps = 0;
  double l2_bytes = 0;         // below: the l2 rate
  double half_rate_bytes = 0;  // DRAM rate is reached as bytes / (bytes + half_rate_bytes)
  double backward_factor = 1;  // of a backward kernel's time per byte
  std::string source;
};
/// A dimensionless factor that depends on one amount: linear between points in log(x), held at the
/// edges.
struct FactorCurve {
  std::string name;     // "sustained/gemm" ...; documented in scenarios/profiles/README.md
  std::string feature;  // what x is: "flops", "key_length", "bytes"
  std::vector<std::pair<double, double>> points;  // (x > 0, factor > 0), x rising
  std::string source;
  double at(double x) const;
};
/// What an op costs the host thread that issues it, per launch, by how the framework issues work.
struct HostFit {
  double eager_us = 0, fused_us = 0, graph_us = 0;
  double backward_scale =
      1;  // of a backward launch, which the autograd engine issues without the module's Python
  std::string source;
  double host_sigma = 0.1;   // 1-sigma of log host time, between machines and sessions
  double step_sigma = 0.06;  // 1-sigma of log step time that the rest of the model does not
                             // explain, over public steps
};

struct KernelProfile {
  std::vector<KernelFamily> families;
  std::vector<MeasuredKernel> measured;
  std::vector<BandwidthFit> bandwidth;
  std::vector<FactorCurve> factors;
  std::map<std::string, HostFit>
      host;  // by framework generation: "pytorch-2020", "megatron", "jax" ...
  double sustained_factor_gemm =
      1.0;  // training-loop time / burst time where no "sustained/gemm" curve says more
  double sustained_factor_attention = 1.0;
  double kernel_floor_us = 2.5;  // shortest kernel, graph-launched
  double launch_gap_us = 1.0;    // idle between dependent kernels of one stream
  double overlap_slowdown_compute =
      1.2;  // compute time factor while a collective runs on the same GPU
  double overlap_slowdown_comm = 1.0;
  /// More fitted parameters by name (unit in the name), documented in scenarios/profiles/README.md.
  std::map<std::string, double> parameters;

  const KernelFamily* family(const std::string& name) const;
  const BandwidthFit* bandwidth_of(const std::string& kind) const;
  const FactorCurve* factor(const std::string& name) const;
};
KernelProfile read_kernel_profile(ObjectReader reader);
Json json_of(const KernelProfile& profile);
}  // namespace stepcast
