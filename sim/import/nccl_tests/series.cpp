// Prediction of node counts and sizes between and beyond the measured ones.
#include <algorithm>
#include <cmath>

#include "sim/collective/collective_model.hpp"
#include "sim/import/nccl_tests/curves.hpp"
#include "sim/import/nccl_tests/step_model.hpp"

namespace stepcast::nccl_tests {
namespace {
/// Time at a size; log-log between sizes, edges keep their latency or bandwidth. A smaller buffer
/// never needs more time, so sizes that a stall or a cold start held up count as the least of the
/// larger ones.
double time_at(const MeasuredCurve& curve, double size) {
  std::vector<std::pair<double, double>> p;
  for (auto it = curve.points.rbegin(); it != curve.points.rend(); ++it) {
    const double time = it->second.value;
    p.emplace_back(static_cast<double>(it->first.value),
                   p.empty() ? time : std::min(time, p.back().second));
  }
  std::reverse(p.begin(), p.end());
  if (size <= p.front().first) return p.front().second;
  if (size >= p.back().first) return p.back().second * size / p.back().first;
  std::size_t i = 1;
  while (p[i].first < size) ++i;
  const double w = std::log(size / p[i - 1].first) / std::log(p[i].first / p[i - 1].first);
  return std::exp(std::log(p[i - 1].second) * (1 - w) + std::log(p[i].second) * w);
}

/// Curves that speak of the asked shape, by nodes.
std::vector<const MeasuredCurve*> matching(std::span<const MeasuredCurve> curves,
                                           Collective collective, int nodes, int g) {
  std::vector<const MeasuredCurve*> same;
  for (const MeasuredCurve& c : curves)
    if (c.collective == collective && c.ranks_per_node == g && !c.points.empty() &&
        (nodes == 1) == (c.nodes == 1))
      same.push_back(&c);
  std::sort(same.begin(), same.end(), [](auto a, auto b) { return a->nodes < b->nodes; });
  return same;
}

/// No multi-node curve of this collective: the port's rate is a property of the node, so another
/// collective lends it.
std::optional<Seconds> lent_time(std::span<const MeasuredCurve> curves, Collective collective,
                                 int nodes, int g, double size) {
  const MeasuredCurve *lender = nullptr, *inside = nullptr;
  double port = 0;  // bytes/s out of a node
  for (const MeasuredCurve& c : curves) {
    if (c.ranks_per_node != g || c.points.empty()) continue;
    if (c.nodes == 1 && c.collective == collective) inside = &c;
    if (c.nodes < 2) continue;
    const double rate = port_bytes(c.collective, c.nodes, g, size) / time_at(c, size);
    if (rate > port) port = rate, lender = &c;
  }
  if (lender == nullptr) return std::nullopt;
  const double across = port_bytes(collective, nodes, g, size) / port;
  const double within =
      inside == nullptr
          ? 0
          : time_at(*inside, size) * bus_factor(collective, nodes * g) / bus_factor(collective, g);
  return Seconds(std::max(across, within) + smallest_time(*lender));
}
}  // namespace

std::optional<Seconds> predicted_time(std::span<const MeasuredCurve> curves, Collective collective,
                                      int nodes, int g, Bytes size) {
  const double s = static_cast<double>(size.value);
  const auto same = matching(curves, collective, nodes, g);
  if (same.empty()) return nodes == 1 ? std::nullopt : lent_time(curves, collective, nodes, g, s);
  if (nodes == 1) return Seconds(time_at(*same.front(), s));
  const StepModel model(same);
  const auto from = [&](const MeasuredCurve& c) {
    return time_at(c, s) * model.time(nodes, s) / model.time(c.nodes, s);
  };
  std::size_t above = 0;
  while (above < same.size() && same[above]->nodes < nodes) ++above;
  if (above == same.size()) return Seconds(from(*same.back()));
  if (above == 0) return Seconds(from(*same.front()));
  const MeasuredCurve &a = *same[above - 1], &b = *same[above];
  const double w = std::log2(static_cast<double>(nodes) / a.nodes) /
                   std::log2(static_cast<double>(b.nodes) / a.nodes);
  return Seconds(std::exp((1 - w) * std::log(from(a)) + w * std::log(from(b))));
}
}  // namespace stepcast::nccl_tests
