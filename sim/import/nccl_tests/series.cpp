// Prediction of node counts and sizes between and beyond the measured ones.
#include <algorithm>
#include <cmath>

#include "sim/collective/collective_model.hpp"
#include "sim/core/robust_stats.hpp"
#include "sim/import/nccl_tests/curves.hpp"
#include "sim/import/nccl_tests/held_up.hpp"
#include "sim/import/nccl_tests/step_model.hpp"

namespace stepcast::nccl_tests {
namespace {
using Points = std::vector<std::pair<double, double>>;  // (bytes, seconds or a ratio of seconds)

/// The curve without what held single sizes up: a stall or a cold start is no property of a size.
Points sound_points(const MeasuredCurve& curve) {
  Points points;
  for (const auto& [size, time] : curve.points)
    points.emplace_back(static_cast<double>(size.value), time.value);
  const auto bounded = bounded_times(points);
  for (std::size_t i = 0; i < points.size(); ++i) points[i].second = bounded[i];
  return points;
}

/// Log-log between two sizes; `size` lies within the points.
double between(const Points& p, double size) {
  std::size_t i = 1;
  while (p[i].first < size) ++i;
  const double w = std::log(size / p[i - 1].first) / std::log(p[i].first / p[i - 1].first);
  return std::exp(std::log(p[i - 1].second) * (1 - w) + std::log(p[i].second) * w);
}

/// Time at a size; edges keep their latency or bandwidth.
double time_at(const MeasuredCurve& curve, double size) {
  const Points p = sound_points(curve);
  if (size <= p.front().first) return p.front().second;
  if (size >= p.back().first) return p.back().second * size / p.back().first;
  return between(p, size);
}

/// Measured over modelled time at a size: what the model of steps does not know about this network.
/// Congestion and changes of protocol come at other sizes with other node counts, so each size
/// takes the median of itself and two neighbours on both sides, fewer at the edges.
double measured_over_model(const MeasuredCurve& curve, const StepModel& model, double size) {
  constexpr std::size_t kNeighbours = 2;
  const Points times = sound_points(curve);
  Points ratios;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const std::size_t reach = std::min({kNeighbours, i, times.size() - 1 - i});
    std::vector<double> around;
    for (std::size_t j = i - reach; j <= i + reach; ++j)
      around.push_back(times[j].second / model.time(curve.nodes, times[j].first));
    ratios.emplace_back(times[i].first, median(around));
  }
  if (size <= ratios.front().first) return ratios.front().second;
  if (size >= ratios.back().first) return ratios.back().second;
  return between(ratios, size);
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
    return measured_over_model(c, model, s) * model.time(nodes, s);
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
