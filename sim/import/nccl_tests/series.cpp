// Prediction of node counts and sizes between and beyond the measured ones.
#include <algorithm>
#include <cmath>

#include "sim/import/nccl_tests/curves.hpp"

namespace stepcast::nccl_tests {
namespace {
constexpr std::int64_t kLatencySize =
    4096;  // up to here a message is one or two packets a step: pure latency

double factor_of(Collective collective, int ranks) {
  const double n = ranks;
  switch (collective) {
    case Collective::all_reduce:
      return 2 * (n - 1) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return (n - 1) / n;
    default:
      return 1;
  }
}
/// Share of a rank's busbw-bytes that leave its node, times the ranks of a node that share the
/// port: all-to-all only.
double port_factor(Collective collective, int nodes, int g) {
  const double n = nodes * g;
  return collective == Collective::all_to_all && nodes > 1 ? g * (n - g) / (n - 1) : 1;
}
double time_at(const MeasuredCurve& curve,
               double size) {  // log-log interpolation; edges keep their bandwidth or latency
  const auto& p = curve.points;
  const auto x = [&](std::size_t i) { return std::log(static_cast<double>(p[i].first.value)); };
  if (size <= static_cast<double>(p.front().first.value)) return p.front().second.value;
  if (size >= static_cast<double>(p.back().first.value))
    return p.back().second.value * size / static_cast<double>(p.back().first.value);
  std::size_t i = 1;
  while (static_cast<double>(p[i].first.value) < size) ++i;
  const double w = (std::log(size) - x(i - 1)) / (x(i) - x(i - 1));
  return std::exp(std::log(p[i - 1].second.value) * (1 - w) + std::log(p[i].second.value) * w);
}
/// Smallest time of the small sizes; 0 where none was measured.
double latency_of(const MeasuredCurve& curve) {
  double least = 0;
  for (const auto& [size, time] : curve.points)
    if (size.value <= kLatencySize) least = least > 0 ? std::min(least, time.value) : time.value;
  return least;
}
double interpolated(double x0, double y0, double x1, double y1, double x) {
  return x1 == x0 ? y0 : y0 + (y1 - y0) * (x - x0) / (x1 - x0);
}
}  // namespace

std::optional<Seconds> predicted_time(std::span<const MeasuredCurve> curves, Collective collective,
                                      int nodes, int g, Bytes size) {
  std::vector<const MeasuredCurve*> same;
  for (const MeasuredCurve& c : curves)
    if (c.collective == collective && c.ranks_per_node == g && !c.points.empty() &&
        (nodes == 1) == (c.nodes == 1))
      same.push_back(&c);
  std::sort(same.begin(), same.end(), [](auto a, auto b) { return a->nodes < b->nodes; });
  const double s = static_cast<double>(size.value);
  if (same.empty()) {
    if (nodes == 1) return std::nullopt;
    // No multi-node curve of this collective: the port's rate is a property of the node, so another
    // collective lends it.
    const MeasuredCurve *lender = nullptr, *inside = nullptr;
    double port = 0;  // bytes/s out of a node
    for (const MeasuredCurve& c : curves) {
      if (c.ranks_per_node == g && c.nodes == 1 && c.collective == collective) inside = &c;
      if (c.ranks_per_node != g || c.nodes < 2 || c.points.empty()) continue;
      const double rate = s / time_at(c, s) * factor_of(c.collective, c.ranks) *
                          port_factor(c.collective, c.nodes, g);
      if (rate > port) port = rate, lender = &c;
    }
    if (lender == nullptr) return std::nullopt;
    const double across =
        s * factor_of(collective, nodes * g) * port_factor(collective, nodes, g) / port;
    const double within =
        inside == nullptr
            ? 0
            : time_at(*inside, s) * factor_of(collective, nodes * g) / factor_of(collective, g);
    return Seconds(std::max(across, within) + latency_of(*lender));
  }
  // Two neighbours in log2(nodes); one curve, or beyond the ends: the nearest two for latency, the
  // nearest one for bandwidth.
  const double x = std::log2(nodes);
  std::size_t hi = 0;
  while (hi + 1 < same.size() && same[hi]->nodes < nodes) ++hi;
  const std::size_t lo = hi > 0 ? hi - 1 : 0;
  const MeasuredCurve &a = *same[lo],
                      &b = *same[std::max(hi, std::min<std::size_t>(lo + 1, same.size() - 1))];
  const double xa = std::log2(a.nodes), xb = std::log2(b.nodes);
  const auto transfer = [&](const MeasuredCurve& c) {  // per byte through a port
    return std::max(time_at(c, s) - latency_of(c), 0.0) /
           (factor_of(collective, c.ranks) * port_factor(collective, c.nodes, g));
  };
  double latency = interpolated(xa, latency_of(a), xb, latency_of(b), x);
  if (&a == &b)
    latency =
        latency_of(a) * std::max(1.0, (1 + x) / (1 + xa));  // one tree level more per doubling
  const double inside = std::clamp(xb == xa ? 0.0 : (x - xa) / (xb - xa), 0.0, 1.0);
  const double per_byte = transfer(a) * (1 - inside) + transfer(b) * inside;
  return Seconds(std::max(latency, 0.0) +
                 per_byte * factor_of(collective, nodes * g) * port_factor(collective, nodes, g));
}
}  // namespace stepcast::nccl_tests
