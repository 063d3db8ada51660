#include "sim/import/nccl_tests/step_model.hpp"

#include <algorithm>
#include <cmath>

#include "sim/collective/collective_model.hpp"
#include "sim/collective/protocols.hpp"

namespace stepcast::nccl_tests {
namespace {
// Up to here a message is one or two packets a step: pure latency.
constexpr std::int64_t kLatencySize = 4096;
constexpr double kMicro = 1e-6;
// Launch of the kernel and its first flags as NCCL's tuner counts them, microseconds of LL.
// Source: baseLat, NVIDIA/nccl@01afd20 src/graph/tuning.cc.
constexpr double kTreeBase_us = 4.4, kRingBase_us = 3.6;
constexpr std::size_t kLowLatency = 0, kLowLatency128 = 1;

bool is_all_reduce(Collective c) { return c == Collective::all_reduce; }
/// Steps between nodes of a ring, or peers elsewhere that an all-to-all sends to.
double ring_hops(Collective c, int nodes, int g) {
  if (c == Collective::all_to_all) return (nodes - 1.0) * g;
  if (c == Collective::send_recv) return 1;
  return (is_all_reduce(c) ? 2.0 : 1.0) * (nodes - 1);
}
double ring_steps_inside(Collective c, int nodes, int g) {
  if (c == Collective::all_to_all || c == Collective::send_recv) return 0;
  return (is_all_reduce(c) ? 2.0 : 1.0) * (nodes * g - 1) - ring_hops(c, nodes, g);
}
}  // namespace

double port_bytes(Collective collective, int nodes, int g, double size) {
  const double n = nodes * g;
  const double bus = size * bus_factor(collective, nodes * g);
  return collective == Collective::all_to_all && nodes > 1 ? bus * g * (n - g) / (n - 1) : bus;
}

double smallest_time(const MeasuredCurve& curve) {
  if (curve.points.front().first.value > kLatencySize) return 0;
  double least = curve.points.front().second.value;
  for (const auto& [size, measured] : curve.points) least = std::min(least, measured.value);
  return least;
}

StepModel::StepModel(const std::vector<const MeasuredCurve*>& curves)
    : collective_(curves.front()->collective), ranks_per_node_(curves.front()->ranks_per_node) {
  // Least squares of the smallest time, less the steps inside nodes, over the hops.
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const MeasuredCurve* c : curves) {
    const auto& [size, time] = c->points.back();
    rate_ = std::max(
        rate_, port_bytes(collective_, c->nodes, ranks_per_node_, static_cast<double>(size.value)) /
                   time.value);
    const double least = smallest_time(*c);
    if (least <= 0) continue;
    const auto [inside, steps] = start_of(c->nodes);
    const double rest = least - inside;
    n += 1, x += steps, y += rest, xx += steps * steps, xy += steps * rest;
  }
  hop_ = typical_hop();
  if (n == 0) {  // no small sizes: the tuner's own figures
    base_ = kRingBase_us * kMicro;
    return;
  }
  const double spread = n * xx - x * x;
  const double slope = spread > 1e-9 ? (n * xy - x * y) / spread : 0;
  if (slope > 0) {
    hop_ = slope;
  } else {
    const double base = kMicro * (is_all_reduce(collective_) ? kTreeBase_us : kRingBase_us);
    hop_ = std::sqrt(typical_hop() * std::max((y - n * base) / x, 0.1 * kMicro));
  }
  base_ = std::max((y - hop_ * x) / n, 0.0);
}

StepModel::Start StepModel::start_of(int nodes) const {
  const Protocol& ll = kProtocols[kLowLatency];
  const Start ring{
      ring_steps_inside(collective_, nodes, ranks_per_node_) * ll.ring_intra_us * kMicro,
      ring_hops(collective_, nodes, ranks_per_node_) * ring_hop_share()};
  if (!is_all_reduce(collective_)) return ring;
  const Start tree{2 * (ranks_per_node_ - 1) * ll.tree_intra_us * kMicro, 2 * std::log2(nodes)};
  const auto believed = [&](const Start& s) { return s.inside + s.hops * typical_hop(); };
  return believed(ring) < believed(tree) ? ring : tree;
}

double StepModel::typical_hop() const {
  const Protocol& ll = kProtocols[kLowLatency];
  return kMicro * (is_all_reduce(collective_) ? ll.tree_inter_us : ll.ring_inter_us);
}

double StepModel::ring_hop_share() const {
  return kMicro * kProtocols[kLowLatency].ring_inter_us / typical_hop();
}

double StepModel::ring_time(int nodes, double size, std::size_t protocol) const {
  const Protocol &ll = kProtocols[kLowLatency], &p = kProtocols[protocol];
  return base_ + ring_steps_inside(collective_, nodes, ranks_per_node_) * p.ring_intra_us * kMicro +
         ring_hops(collective_, nodes, ranks_per_node_) * hop_ * ring_hop_share() *
             p.ring_inter_us / ll.ring_inter_us +
         port_bytes(collective_, nodes, ranks_per_node_, size) / (rate_ * p.ring_bandwidth);
}

double StepModel::tree_time(int nodes, double size, std::size_t protocol) const {
  const Protocol &ll = kProtocols[kLowLatency], &p = kProtocols[protocol];
  // An inner node of the two trees receives half the buffer from two children and sends it on.
  return base_ +
         2 * ((ranks_per_node_ - 1) * p.tree_intra_us * kMicro +
              std::log2(nodes) * hop_ * p.tree_inter_us / ll.tree_inter_us) +
         2 * size / (rate_ * p.tree_bandwidth * tree_belief(p, size));
}

double StepModel::time(int nodes, double size) const {
  if (collective_ == Collective::all_to_all || collective_ == Collective::send_recv)
    return base_ + start_of(nodes).hops * hop_ +  // grouped sends and receives, one protocol
           port_bytes(collective_, nodes, ranks_per_node_, size) / rate_;
  double least = INFINITY;
  for (std::size_t p = 0; p < kProtocols.size(); ++p) {
    if (p == kLowLatency128) continue;  // needs a path without PCIe bridges; no log tells
    least = std::min(least, ring_time(nodes, size, p));
    if (is_all_reduce(collective_)) least = std::min(least, tree_time(nodes, size, p));
  }
  return least;
}
}  // namespace stepcast::nccl_tests
