#pragma once
#include <array>
#include <map>
#include <string>
#include <vector>

#include "sim/engine/job.hpp"
#include "sim/engine/lowering/stragglers.hpp"
#include "sim/engine/simulate.hpp"

namespace stepcast {
/// What a block's program depends on beside its stage's graph. Blocks with equal views share a
/// program.
struct BlockView {
  int stage = 0;
  std::size_t hardware = 0;  // index of its nodes' spec in ClusterSpec::groups
  std::array<GroupShape, kGroupKinds>
      shape{};  // of its process group of every kind; ranks = 1 where it has none
  std::map<int, GroupShape> message;  // by peer stage
  std::map<std::string, double> op_slowdown;
  /// Equal for equal views.
  std::vector<double> key() const;
};

/// Calibration's doubts about what a program used, in seconds of one step.
struct Doubts {
  struct Extrapolated {
    std::string nearest_measured;
    double seconds = 0;
  };
  std::map<std::string, Extrapolated> extrapolated;  // by what
  std::map<std::string, double> sigma_seconds;       // by op name: 1-sigma times duration
  void add(const Doubts& other, double times);
  /// Errors of different ops are independent, of one op's repetitions the same: root of the sum of
  /// squares over names.
  double sigma() const;
};

struct LoweredProgram {
  Program program;
  Doubts doubts;
};

/// A compressor's loops are no plain streams: what a calibration measured of them over what the
/// cost model says (profile parameters encode_factor_SCHEME, decode_factor_SCHEME; 1 where absent).
struct CodecFactors {
  double encode = 1, decode = 1;
  double of(const std::string& op_name) const;
};

/// How a generation of a framework calls collectives: parameters of the profile with the
/// framework's name behind a slash (scenarios/profiles/README.md).
struct CollectiveHabits {
  CollectiveHabits(const Profile& profile, const std::string& framework);
  /// Host time of a collective among a layer's ranks: process-group dispatch, work object, stream
  /// events. 0: as a launch.
  double issue_s = 0, issue_per_peer_s = 0;
  /// GPU time for which a tensor-parallel collective waits for the last of its ranks, by rank,
  /// where the hosts bound the pass: each rank is issued by a process of its own, and they drift
  /// apart.
  double wait_per_peer_s = 0;
  /// ZeRO-3: collectives in which a layer's parameters are gathered and its gradients scattered.
  double per_layer = 1;
  /// ZeRO-3 over lists of tensors: one copy between a member's tensor and the flat buffer.
  double list_copy_s = 0;
};

/// Turns stage graphs into programs under one hardware's cost and collective models.
class ProgramLowering {
 public:
  ProgramLowering(const Scenario& scenario, const Profile& profile, const NodeSpec& node,
                  NameTable& names);
  LoweredProgram lower(const StageGraph& graph, const BlockView& view) const;

 private:
  CollectiveTerms terms_of(const GraphOp& op, const GroupShape& shape) const;

  const Scenario& scenario_;
  const NodeSpec& node_;
  NameTable& names_;
  CostModel cost_;
  CodecFactors codec_;
  /// Seconds of idle, 0 where no calibration measured them: at both ends of a step together, and
  /// from one stream's end to the start of another that waits for it.
  double step_edges_s_, hand_over_s_;
  double overlap_slowdown_comm_;
  CollectiveHabits habits_;
  CollectiveModel collectives_;
};
}  // namespace stepcast
