#pragma once
#include <algorithm>
#include <array>
#include <cmath>

#include "sim/profile/collective_profile.hpp"

/// What NCCL's three wire protocols cost.
/// LL sends 4 bytes of data with each 4-byte flag and avoids memory barriers; LL128 carries 120 of
/// 128 bytes; Simple moves whole chunks and synchronises once per chunk. Source: latencies and
/// bandwidth shares that NCCL's own tuner compares, NVIDIA/nccl@01afd20 src/graph/tuning.cc.
namespace stepcast {
struct Protocol {
  const char* name;
  double ring_intra_us, tree_intra_us;  // one NVLink step inside a node
  double ring_inter_us,
      tree_inter_us;  // one network step, as the tuner believes; costs take the fitted fabric's
  double ring_bandwidth, tree_bandwidth;  // share of the link's rate that is payload
};
inline constexpr std::array<Protocol, 3> kProtocols{{
    {"LL", 0.85, 0.94, 2.7, 5.0, 1.0 / 4.0, 1.0 / 3.8},
    {"LL128", 1.9, 1.2, 4.0, 8.5, 0.92, 0.9 * 0.915},
    {"Simple", 3.4, 4.0, 9.6, 14.0, 1.0, 0.9},
}};

/// Share of the nominal bandwidth that NCCL's tuner believes a tree reaches at a size: pipelines
/// fill slowly at middle sizes. Read off its correction table, as straight lines over log2 of the
/// buffer. Source: treeCorrectionFactor, NVIDIA/nccl@01afd20 src/graph/tuning.cc.
inline double tree_belief(const Protocol& protocol, double buffer) {
  struct Knot {
    double log2_bytes, share;
  };
  constexpr std::array<std::array<Knot, 4>, 3> kKnots{{
      {{{9, 1.0}, {13, 0.7}, {18, 0.4}, {25, 1.0}}},
      {{{11, 1.0}, {16, 0.6}, {19, 0.5}, {27, 1.0}}},
      {{{12, 0.9}, {17, 0.5}, {22, 0.5}, {27, 0.9}}},
  }};
  const auto& knots = kKnots[static_cast<std::size_t>(&protocol - kProtocols.data())];
  const double x = std::log2(std::max(1.0, buffer));
  if (x <= knots.front().log2_bytes) return knots.front().share;
  for (std::size_t k = 1; k < knots.size(); ++k)
    if (x <= knots[k].log2_bytes) {
      const double along =
          (x - knots[k - 1].log2_bytes) / (knots[k].log2_bytes - knots[k - 1].log2_bytes);
      return knots[k - 1].share + along * (knots[k].share - knots[k - 1].share);
    }
  return 1;
}

/// Payload share of a link that a fitted fabric reaches with a protocol, before its large-message
/// efficiency. The low-latency protocols lose `1 - ll_efficiency` of it to the proxies at small
/// messages, and ever less as an edge carries more.
inline double carried(const FabricFit& fit, const Protocol& protocol, bool is_tree,
                      double payload) {
  const double nominal = is_tree ? protocol.tree_bandwidth : protocol.ring_bandwidth;
  if (&protocol == &kProtocols[2]) return nominal;
  const double kept = payload > 0 ? payload / (payload + fit.ll_half_loss) : 0;
  return nominal * (fit.ll_efficiency + (1 - fit.ll_efficiency) * kept);
}

/// Latency of one network step of a ring (`is_tree`: one level of a tree) on a fitted fabric.
inline Seconds inter_step(const FabricFit& fit, const Protocol& protocol, bool is_tree) {
  if (&protocol == &kProtocols[2]) return fit.simple_step_latency;
  const double ratio = is_tree ? protocol.tree_inter_us / kProtocols[0].tree_inter_us
                               : protocol.ring_inter_us / kProtocols[0].ring_inter_us;
  return (is_tree ? fit.tree_step_latency : fit.ring_step_latency) * ratio;
}
}  // namespace stepcast
