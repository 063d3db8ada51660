#include "sim/collective/single_node_curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/profile/parameters.hpp"

namespace stepcast {
namespace {
/// Slopes of Fritsch and Carlson (1980): the cubic stays monotone between monotone points, so it
/// never overshoots a step.
double knot_slope(double h0, double h1, double d0, double d1) {
  if (d0 * d1 <= 0) return 0;
  const double w0 = 2 * h1 + h0, w1 = h1 + 2 * h0;
  return (w0 + w1) / (w0 / d0 + w1 / d1);
}
const CollectiveCurve* find_curve(const CollectiveProfile& profile, Collective collective,
                                  int ranks) {
  for (const CollectiveCurve& curve : profile.curves)
    if (curve.collective == collective && curve.ranks == ranks && !curve.points.empty())
      return &curve;
  return nullptr;
}
double first_time(const CollectiveCurve& curve) { return curve.points.front().second.value; }

/// Start-up of a curve whose smallest message is large: the time left when the wire part is taken
/// off at the best bandwidth.
double startup_of(const CollectiveCurve& curve, double fallback) {
  constexpr double kSmall = 65536;  // bytes; below this NVLink and PCIe times are flat
  const auto& [size, time] = curve.points.front();
  return static_cast<double>(size.value) <= kSmall ? time.value : std::min(fallback, time.value);
}
std::string described(const CollectiveCurve& curve) {
  const double size = static_cast<double>(curve.points.back().first.value);
  return fmt::format("{} on {} GPUs, to {:.3g} MiB", text_of(curve.collective), curve.ranks,
                     size / 1048576.0);
}
/// Typical start-up of a kernel with one step, when no small message was measured: 10 us, between
/// the 5 us (H100, graph launched) and the 15 us (A100 nccl-tests) of the bundled curves.
constexpr double kDefaultStartup = 10e-6;
}  // namespace

double wire_share(Collective collective, int ranks) {
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

Seconds time_on_curve(const CollectiveCurve& curve, double size) {
  const auto& points = curve.points;
  const std::size_t n = points.size();
  const auto x = [&](std::size_t i) { return static_cast<double>(points[i].first.value); };
  const auto t = [&](std::size_t i) { return points[i].second.value; };
  if (n == 1 || size <= x(0)) {
    if (size >= x(0)) return Seconds(t(0) * size / x(0));
    // Below the smallest message: flat when that one is small, else the wire part shrinks with the
    // size.
    const double startup = startup_of(curve, kDefaultStartup);
    return Seconds(startup + (t(0) - startup) * size / x(0));
  }
  if (size >= x(n - 1)) {
    // The secant of the last two points, kept between the mean rate and 30 % above it: one noisy
    // point must not steer.
    const double mean = t(n - 1) / x(n - 1);
    const double slope =
        std::clamp((t(n - 1) - t(n - 2)) / (x(n - 1) - x(n - 2)), mean / 1.3, mean);
    return Seconds(t(n - 1) + slope * (size - x(n - 1)));
  }
  const auto above = std::upper_bound(
      points.begin(), points.end(), size,
      [](double s, const auto& p) { return s < static_cast<double>(p.first.value); });
  const auto i = static_cast<std::size_t>(above - points.begin()) - 1;
  const auto lx = [&](std::size_t k) { return std::log(x(k)); };
  const auto ly = [&](std::size_t k) { return std::log(t(k)); };
  const auto secant = [&](std::size_t k) { return (ly(k + 1) - ly(k)) / (lx(k + 1) - lx(k)); };
  const auto slope = [&](std::size_t k) {
    if (k == 0) return secant(0);
    if (k == n - 1) return secant(n - 2);
    return knot_slope(lx(k) - lx(k - 1), lx(k + 1) - lx(k), secant(k - 1), secant(k));
  };
  const double h = lx(i + 1) - lx(i), u = (std::log(size) - lx(i)) / h, u2 = u * u, u3 = u2 * u;
  const double cubic = (2 * u3 - 3 * u2 + 1) * ly(i) + (u3 - 2 * u2 + u) * h * slope(i) +
                       (3 * u2 - 2 * u3) * ly(i + 1) + (u3 - u2) * h * slope(i + 1);
  // Between far points alpha + beta S is nearer than a cubic of logs: take the geometric mean of
  // both.
  const double line = t(i) + (t(i + 1) - t(i)) * (size - x(i)) / (x(i + 1) - x(i));
  return Seconds(std::sqrt(std::exp(cubic) * line));
}

namespace {
/// Time of `curve`'s group when one rank sends `wire` bytes.
double time_at_wire(const CollectiveCurve& curve, double wire) {
  return time_on_curve(curve, wire / wire_share(curve.collective, curve.ranks)).value;
}
struct Split {
  double alpha, rest;
};

/// The ring all-reduce of a group that reduces in the switch, from its all-gather and
/// reduce-scatter. A fused all-reduce is faster than the two after each other; 2 ranks show by how
/// much (they always use a ring), and the gain fades with the square root from 2 to 4 ranks (H100:
/// 0.77 and 0.875), so towards 1 for larger rings.
std::optional<double> ring_rest_of(const CollectiveProfile& profile, const CollectiveCurve& pair,
                                   int ranks, double wire) {
  const CollectiveCurve* gather = find_curve(profile, Collective::all_gather, ranks);
  const CollectiveCurve* scatter = find_curve(profile, Collective::reduce_scatter, ranks);
  const CollectiveCurve* pair_gather = find_curve(profile, Collective::all_gather, pair.ranks);
  const CollectiveCurve* pair_scatter = find_curve(profile, Collective::reduce_scatter, pair.ranks);
  if (!gather || !scatter || !pair_gather || !pair_scatter) return std::nullopt;
  const auto rest = [&](const CollectiveCurve& curve, double w) {
    return std::max(0.0, time_at_wire(curve, w) - first_time(curve));
  };
  const double both = rest(*gather, wire / 2) + rest(*scatter, wire / 2);
  const double pair_both = rest(*pair_gather, wire / 2) + rest(*pair_scatter, wire / 2);
  if (pair_both <= 0) return std::nullopt;
  const double pair_gain =
      std::min(1.0, std::max(0.0, time_at_wire(pair, wire) - first_time(pair)) / pair_both);
  return both * std::sqrt(pair_gain);
}

SingleNodeTime between(const CollectiveProfile& profile, const NodeSpec& node,
                       const CollectiveCurve& low, const CollectiveCurve& high, int ranks,
                       double buffer) {
  const double wire = buffer * wire_share(low.collective, ranks);
  const double share = static_cast<double>(ranks - low.ranks) / (high.ranks - low.ranks);
  const auto inverse_square = [](int n) { return 1.0 / (static_cast<double>(n) * n); };
  const double share_rest = (inverse_square(low.ranks) - inverse_square(ranks)) /
                            (inverse_square(low.ranks) - inverse_square(high.ranks));
  const double low_alpha = startup_of(low, kDefaultStartup),
               high_alpha = startup_of(high, kDefaultStartup);
  const double low_rest = std::max(0.0, time_at_wire(low, wire) - low_alpha);
  double high_rest = std::max(0.0, time_at_wire(high, wire) - high_alpha);
  const double nvls_from = parameter(profile.parameters, "in_switch_reduction_min_ranks", 5);
  if (low.collective == Collective::all_reduce && node.in_switch_reduction && ranks < nvls_from &&
      high.ranks >= nvls_from)
    if (const auto ring = ring_rest_of(profile, low, high.ranks, wire)) high_rest = *ring;
  SingleNodeTime time;
  time.startup = Seconds(low_alpha + (high_alpha - low_alpha) * share);
  time.total = time.startup + Seconds(low_rest + (high_rest - low_rest) * share_rest);
  time.is_extrapolated = true;
  time.nearest_measured = fmt::format("{} and {}", described(low), described(high));
  return time;
}

/// One measured group size only, or beyond all of them: the same wire bytes plus the steps of the
/// further ranks.
SingleNodeTime beyond(const CollectiveProfile& profile, const CollectiveCurve& curve, int ranks,
                      double buffer) {
  // Latency of one more rank in the group, microseconds: 1 us per all-gather or reduce-scatter step
  // and twice for all-reduce (A100, H100 2 against 8 GPUs: 0.9-1.0 and 1.6-1.9 us); all-to-all
  // sends in parallel (0.3-0.5 us).
  const std::string name = fmt::format("step_latency_{}_us", text_of(curve.collective));
  const double fallback = curve.collective == Collective::all_reduce   ? 1.7
                          : curve.collective == Collective::all_to_all ? 0.4
                                                                       : 1.0;
  const double step = parameter(profile.parameters, name, fallback) * 1e-6;
  const double wire = buffer * wire_share(curve.collective, ranks);
  const double alpha = startup_of(curve, kDefaultStartup);
  SingleNodeTime time;
  time.startup = Seconds(std::max(alpha / 2, alpha + step * (ranks - curve.ranks)));
  time.total = time.startup + Seconds(std::max(0.0, time_at_wire(curve, wire) - alpha));
  time.is_extrapolated = true;
  time.nearest_measured = described(curve);
  return time;
}

/// What a ring reaches of the datasheet link when nothing was measured: 0.8, as the measured NVLink
/// and xGMI rings do (A100 0.78, H100 0.81, MI300X 0.70 with its mesh); PCIe shares the host bridge
/// among the ranks of a node.
SingleNodeTime from_datasheet(const NodeSpec& node, Collective collective, double buffer,
                              int ranks) {
  const double efficiency = node.intra == IntraTopology::pcie   ? 0.6
                            : node.intra == IntraTopology::xgmi ? 0.7
                                                                : 0.8;
  const int steps = collective == Collective::all_reduce ? 2 * (ranks - 1) : ranks - 1;
  SingleNodeTime time;
  time.startup = Seconds(kDefaultStartup + 1e-6 * steps);
  const double rate = std::max(1.0, node.gpu_link.value * efficiency);
  time.total = time.startup + Seconds(buffer * wire_share(collective, ranks) / rate);
  time.is_extrapolated = true;
  time.nearest_measured = "nothing: datasheet link";
  return time;
}

/// A collective nobody measured borrows one that moves the same bytes the same way.
Collective measured_like(const CollectiveProfile& profile, Collective collective) {
  const auto has = [&](Collective c) {
    return std::any_of(profile.curves.begin(), profile.curves.end(), [&](const auto& curve) {
      return curve.collective == c && !curve.points.empty();
    });
  };
  if (has(collective)) return collective;
  const std::array<Collective, 4> stand_ins{Collective::all_gather, Collective::reduce_scatter,
                                            Collective::all_to_all, Collective::all_reduce};
  for (const Collective other : stand_ins)
    if (has(other)) return other;
  return collective;
}

/// The time on the links that the curves were measured on.
SingleNodeTime as_measured(const CollectiveProfile& profile, const NodeSpec& node,
                           Collective collective, Bytes buffer, int ranks) {
  const Collective source = measured_like(profile, collective);
  // Equal wire bytes: an all-gather of S stands for half an all-reduce of S, and so on.
  const double size =
      static_cast<double>(buffer.value) * wire_share(collective, ranks) / wire_share(source, ranks);
  const CollectiveCurve* low = nullptr;
  const CollectiveCurve* high = nullptr;
  for (const CollectiveCurve& curve : profile.curves) {
    if (curve.collective != source || curve.points.empty()) continue;
    if (curve.ranks <= ranks && (!low || curve.ranks > low->ranks)) low = &curve;
    if (curve.ranks >= ranks && (!high || curve.ranks < high->ranks)) high = &curve;
  }
  SingleNodeTime time;
  if (!low && !high)
    return from_datasheet(node, collective, static_cast<double>(buffer.value), ranks);
  if (low && low == high) {
    time.total = time_on_curve(*low, size);
    time.startup = std::min(time.total, Seconds(startup_of(*low, kDefaultStartup)));
    const double first = static_cast<double>(low->points.front().first.value),
                 last = static_cast<double>(low->points.back().first.value);
    time.is_extrapolated =
        source != collective || size > last * 1.5 || (size < first / 1.5 && first > 65536);
    if (time.is_extrapolated) time.nearest_measured = described(*low);
    return time;
  }
  // Group sizes outside the measured range follow the nearest; inside it, both neighbours.
  if (low && high) return between(profile, node, *low, *high, ranks, size);
  return beyond(profile, low ? *low : *high, ranks, size);
}
}  // namespace

SingleNodeTime single_node_time(const CollectiveProfile& profile, const NodeSpec& node,
                                Collective collective, Bytes buffer, int ranks) {
  if (ranks <= 1 || buffer.value <= 0) return {};
  SingleNodeTime time = as_measured(profile, node, collective, buffer, ranks);
  if (profile.curves.empty()) return time;
  const double measured_link = parameter(profile.parameters, "curves_gpu_link_GBps", 0) * 1e9;
  const double scale =
      measured_link > 0 && node.gpu_link.value > 0 ? measured_link / node.gpu_link.value : 1;
  if (scale != 1) {
    time.total = time.startup + (time.total - time.startup) * scale;
    time.is_extrapolated = true;
    if (time.nearest_measured.empty())
      time.nearest_measured = fmt::format("links of {:.4g} GB/s", measured_link / 1e9);
  }
  const double reduced_from = parameter(profile.parameters, "in_switch_reduction_min_ranks", 0);
  if (collective == Collective::all_reduce && !node.in_switch_reduction && reduced_from > 0 &&
      ranks >= reduced_from) {
    // The curve reduced in the switch and this node cannot. The measured run had both to choose
    // from, so the ring alone is never faster than it.
    NodeSpec reducing = node;
    reducing.in_switch_reduction = true;
    SingleNodeTime ring = ring_all_reduce_time(profile, reducing, buffer, ranks);
    if (ring.nearest_measured.empty())
      ring.nearest_measured = fmt::format("in-switch reduction of {} GPUs", ranks);
    if (ring.total > time.total) return ring;
  }
  return time;
}

SingleNodeTime ring_all_reduce_time(const CollectiveProfile& profile, const NodeSpec& node,
                                    Bytes buffer, int ranks) {
  const SingleNodeTime usual =
      single_node_time(profile, node, Collective::all_reduce, buffer, ranks);
  const double reduces_from = parameter(profile.parameters, "in_switch_reduction_min_ranks", 5);
  const CollectiveCurve* pair = find_curve(profile, Collective::all_reduce, 2);
  if (!node.in_switch_reduction || ranks < reduces_from || pair == nullptr) return usual;
  const auto part = [&](Collective collective, Bytes size, int n) {
    return single_node_time(profile, node, collective, size, n);
  };
  const auto rest = [](const SingleNodeTime& time) { return (time.total - time.startup).value; };
  const SingleNodeTime gather = part(Collective::all_gather, buffer, ranks);
  const SingleNodeTime scatter = part(Collective::reduce_scatter, buffer, ranks);
  const Bytes wire = scaled(buffer, wire_share(Collective::all_reduce, ranks));  // a pair's buffer
  const SingleNodeTime pair_gather = part(Collective::all_gather, wire, 2);
  const double pair_both = rest(pair_gather) + rest(part(Collective::reduce_scatter, wire, 2));
  if (pair_both <= 0) return usual;
  const double gain = std::min(1.0, rest(part(Collective::all_reduce, wire, 2)) / pair_both);
  SingleNodeTime time = usual;
  // One kernel in place of two saves one start-up, which a pair shows with the fewest steps.
  time.startup = gather.startup + scatter.startup - pair_gather.startup;
  time.total = time.startup + Seconds((rest(gather) + rest(scatter)) * std::pow(gain, 2.0 / ranks));
  time.is_extrapolated = true;
  time.nearest_measured = gather.nearest_measured;
  return time;
}
}  // namespace stepcast
