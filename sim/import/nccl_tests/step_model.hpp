#pragma once
#include <vector>

#include "sim/import/nccl_tests/curves.hpp"

/// How the time of a collective over several nodes grows with their number.
namespace stepcast::nccl_tests {

/// Bytes that the busiest node sends through its ports for a buffer of `size`: busbw bytes of the
/// ring that leaves it once; all-to-all sends to every rank elsewhere from each of its g ranks.
double port_bytes(Collective collective, int nodes, int ranks_per_node, double size);
/// Time of a message that is pure latency, seconds; 0 where none was measured. The least of all
/// sizes, since a smaller one never needs more time than a larger one.
double smallest_time(const MeasuredCurve& curve);

/// Model: NCCL's own cost of a collective, the least over its algorithms and wire protocols of
///   base + steps inside nodes x their latency + steps between nodes x hop + bytes / rate
/// with 2 log2(nodes) steps between nodes for a tree and nodes - 1 for a ring (twice that for
/// all-reduce); all-to-all pays a hop for each rank elsewhere. Ratios between protocols and the
/// latencies inside a node are those its tuner compares (sim/collective/protocols.hpp); `base`,
/// `hop` and `rate` are measured: hop from the growth of the smallest time with the steps, rate
/// from the largest size.
/// Assumes: with a single node count hop and base cannot be told apart. The hop is then the
/// geometric mean of the tuner's figure and the most that the measured time leaves for it.
/// Fails: it scales a measured curve and predicts none by itself; SHARP, NVLS and PAT are unknown
/// to it, as are job placement and traffic of others.
class StepModel {
 public:
  /// Curves of one collective and one number of ranks per node, two nodes or more, not empty.
  explicit StepModel(const std::vector<const MeasuredCurve*>& curves);
  /// Seconds for a buffer over `nodes` nodes.
  double time(int nodes, double size) const;

 private:
  double ring_time(int nodes, double size, std::size_t protocol) const;
  double tree_time(int nodes, double size, std::size_t protocol) const;
  /// The smallest message by the algorithm that the tuner believes is faster: seconds of its steps
  /// inside nodes, and hops.
  struct Start {
    double inside = 0, hops = 0;
  };
  Start start_of(int nodes) const;
  double typical_hop() const;  // the tuner's: a level of the tree for all-reduce, else a ring step
  double ring_hop_share() const;  // of a hop that a ring step is
  Collective collective_;
  int ranks_per_node_;
  double base_ = 0, hop_ = 0, rate_ = 0;  // s, s, bytes/s of a node's ports
};
}  // namespace stepcast::nccl_tests
