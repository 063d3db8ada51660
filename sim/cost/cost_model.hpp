#pragma once
#include <memory>
#include <string>
#include <unordered_map>

#include "sim/cluster/cluster_spec.hpp"
#include "sim/profile/profile.hpp"
#include "sim/workload/op.hpp"
#include "sim/workload/training_spec.hpp"

namespace stepcast {
/// How the framework's host thread issues work.
/// blocking: as fused, but each launch waits for its kernel (CUDA_LAUNCH_BLOCKING=1).
enum class HostMode { eager, fused, graph, none, blocking };
template <>
struct EnumText<HostMode> {
  static constexpr std::array<std::pair<HostMode, std::string_view>, 5> table{
      {{HostMode::eager, "eager"},
       {HostMode::fused, "fused"},
       {HostMode::graph, "graph"},
       {HostMode::none, "none"},
       {HostMode::blocking, "blocking"}}};
};

struct OpCost {
  Seconds duration;           // on the GPU, in a training loop (sustained), launch gap included
  Seconds host;               // of the issuing host thread
  double relative_sigma = 0;  // 1-sigma relative uncertainty
  bool is_extrapolated = false;
  std::string nearest_measured;  // filled when extrapolated
};

struct CostOptions {
  HostMode host = HostMode::fused;
  std::string framework = "megatron";  // key into KernelProfile::host
  double host_scale = 1;               // multiplies host issue time
  Fusion fusion = Fusion::fused;
  AttentionKernel attention_kernel = AttentionKernel::best;
  double slowest_board = 1;  // products run at the clocks of the slowest board in step with this
                             // one: its time over a typical one's
  bool is_burst = false;     // true: isolated micro-benchmark time, no sustained factor
};

/// Compute op -> seconds, for one GPU under one profile. Collectives are refused (see
/// CollectiveModel). A measured shape returns exactly; others borrow utilisation from neighbours in
/// log space; never below the roofline; outside the measured range the edge is held and the cost is
/// flagged. Thread-compatible; memoises by shape.
class CostModel {
 public:
  CostModel(const Profile& profile, const GpuSpec& gpu, const CostOptions& options);
  ~CostModel();
  OpCost cost(const Op& op) const;
  /// The least time physics allows: max(flops / peak, bytes / bandwidth).
  Seconds roofline(const Op& op) const;

 private:
  struct Index;  // neighbour search per family
  Profile profile_;
  GpuSpec gpu_;
  CostOptions options_;
  std::unique_ptr<Index> index_;
};
}  // namespace stepcast
