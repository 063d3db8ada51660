#pragma once
#include <array>

#include "sim/profile/collective_profile.hpp"

/// What NCCL's three wire protocols cost.
/// LL sends 4 bytes of data with each 4-byte flag and avoids memory barriers; LL128 carries 120 of 128 bytes; Simple moves
/// whole chunks and synchronises once per chunk.
/// Source: latencies and bandwidth shares that NCCL's own tuner compares, NVIDIA/nccl@01afd20 src/graph/tuning.cc.
namespace stepcast {
struct Protocol {
  const char* name;
  double ring_intra_us, tree_intra_us;    // one NVLink step inside a node
  double ring_inter_us, tree_inter_us;    // one network step, as the tuner believes; costs take the fitted fabric's
  double ring_bandwidth, tree_bandwidth;  // share of the link's rate that is payload
};
inline constexpr std::array<Protocol, 3> kProtocols{{
    {"LL", 0.85, 0.94, 2.7, 5.0, 1.0 / 4.0, 1.0 / 3.8},
    {"LL128", 1.9, 1.2, 4.0, 8.5, 0.92, 0.9 * 0.915},
    {"Simple", 3.4, 4.0, 9.6, 14.0, 1.0, 0.9},
}};

/// Latency of one network step of a ring (`is_tree`: one level of a tree) on a fitted fabric.
inline Seconds inter_step(const FabricFit& fit, const Protocol& protocol, bool is_tree) {
  if (&protocol == &kProtocols[2]) return fit.simple_step_latency;
  const double ratio = is_tree ? protocol.tree_inter_us / kProtocols[0].tree_inter_us
                               : protocol.ring_inter_us / kProtocols[0].ring_inter_us;
  return (is_tree ? fit.tree_step_latency : fit.ring_step_latency) * ratio;
}
}  // namespace stepcast
