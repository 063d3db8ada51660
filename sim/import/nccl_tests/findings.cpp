#include "sim/import/nccl_tests/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "sim/core/robust_stats.hpp"
#include "sim/import/nccl_tests/held_up.hpp"

namespace stepcast::nccl_tests {
namespace {
// Printed values carry 2 decimals or 4 digits; recomputation may differ by that rounding and no
// more.
constexpr double kRounding_GBps = 0.006, kRelativeRounding = 0.015;
// A 100 Gb/s NIC carries 12.5 GB/s; GPU servers with RDMA reach 80 % of it and more. Public runs
// over TCP sockets on 2 x 200 Gb/s nodes reach 2.3-9.5 GB/s, runs with RDMA on the same nodes 17-37
// (data/measured/nccl_runs.csv, polaris).
constexpr double kSocketLike_GBps = 10;
constexpr std::int64_t kBandwidthSize = 64 << 20;  // below, latency still shows in busbw
constexpr double kStallFactor =
    2.5;  // against the neighbours' interpolation; protocol switches stay below 2
constexpr double kSlowPair = 0.85;  // of the median of equal pairs; good pairs spread by 3 %

std::string size_text(std::int64_t bytes) {
  for (const auto& [shift, unit] : {std::pair{30, "GiB"}, {20, "MiB"}, {10, "KiB"}})
    if (bytes >= (std::int64_t{1} << shift))
      return fmt::format("{:.4g} {}", static_cast<double>(bytes) / std::ldexp(1.0, shift), unit);
  return fmt::format("{} B", bytes);
}
std::string who(const Sweep& sweep) {
  return fmt::format("{} on {} x {} GPUs{}", text_of(sweep.test), sweep.nodes, sweep.ranks_per_node,
                     sweep.hosts.empty() ? "" : " (" + joined(sweep.hosts) + ")");
}

std::vector<std::pair<double, double>> points_of(const Sweep& sweep) {
  std::vector<std::pair<double, double>> points;  // (bytes, us)
  for (const Row& row : sweep.rows)
    points.emplace_back(static_cast<double>(row.size), row.best().time_us);
  return points;
}

void check_busbw(const Sweep& sweep, std::vector<Finding>& out) {
  if (sweep.ranks < 2 || sweep.test == Test::unknown) return;
  const double factor = bus_factor(sweep.test, sweep.ranks);
  int wrong = 0, total = 0;
  std::string first;
  for (const Row& row : sweep.rows)
    for (const auto& timing : {row.out_of_place, row.in_place}) {
      if (!timing || timing->time_us <= 0) continue;
      ++total;
      const double algbw = static_cast<double>(row.size) / timing->time_us * 1e-3,
                   busbw = algbw * factor;
      const auto differs = [](double a, double b) {
        return std::abs(a - b) > kRounding_GBps + kRelativeRounding * std::max(a, b);
      };
      if (!differs(algbw, timing->algbw) && !differs(busbw, timing->busbw)) continue;
      if (wrong++ == 0)
        first = fmt::format(
            "at {} it prints algbw {:.4g}, busbw {:.4g} where size and time give {:.4g} and {:.4g} "
            "GB/s",
            size_text(row.size), timing->algbw, timing->busbw, algbw, busbw);
    }
  if (wrong > 0)
    out.push_back({Severity::warning, "busbw_mismatch",
                   fmt::format("{}: {} of {} printed bandwidths do not follow from size and time; "
                               "{}. Times are used.",
                               who(sweep), wrong, total, first),
                   sweep.file, sweep.line});
}

void check_sockets(const Sweep& sweep, std::vector<Finding>& out) {
  if (sweep.nodes < 2) return;
  const bool says_socket =
      std::find(sweep.transports.begin(), sweep.transports.end(), "socket") !=
          sweep.transports.end() &&
      std::find(sweep.transports.begin(), sweep.transports.end(), "ib") == sweep.transports.end() &&
      std::find(sweep.transports.begin(), sweep.transports.end(), "ofi") == sweep.transports.end();
  double best = 0;
  bool is_large = false;
  for (const Row& row : sweep.rows)
    if (row.size >= kBandwidthSize)
      best = std::max(best, node_rate_GBps(sweep, row)), is_large = true;
  if (says_socket || (is_large && best < kSocketLike_GBps))
    out.push_back(
        {Severity::error, "tcp_fallback",
         fmt::format("{}: {}a node sends at most {:.1f} GB/s to the others, what TCP sockets or "
                     "one degraded NIC give; look for NET/Socket "
                     "in NCCL_DEBUG=INFO, a missing RDMA plugin, or GPUDirect switched off.",
                     who(sweep), says_socket ? "NCCL says it uses sockets; " : "", best),
         sweep.file, sweep.line});
}

void check_sizes(const Sweep& sweep, std::vector<Finding>& out) {
  std::vector<std::string> off, held_up;
  const auto& rows = sweep.rows;
  const auto bounded = bounded_times(points_of(sweep));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double t = rows[i].best().time_us;
    const auto& next = i + 1 < rows.size() ? rows[i + 1] : rows[i];
    double expected = 0;
    if (i > 0 && i + 1 < rows.size()) {
      const auto& before = rows[i - 1];
      const double x = std::log(double(rows[i].size) / double(before.size)) /
                       std::log(double(next.size) / double(before.size));
      expected =
          std::exp(std::log(before.best().time_us) * (1 - x) + std::log(next.best().time_us) * x);
    } else if (i == 0 && rows.size() > 1) {
      expected = next.best().time_us;  // a smaller size never needs more
    }
    if (expected > 0 && t > kStallFactor * expected)
      off.push_back(fmt::format("{} takes {:.4g} us where its neighbours say {:.4g}",
                                size_text(rows[i].size), t, expected));
    else if (t > kHeldUp * bounded[i])
      held_up.push_back(fmt::format("{} ({:.2f} times)", size_text(rows[i].size), t / bounded[i]));
  }
  if (off.size() >= 3)
    out.push_back(
        {Severity::error, "stalls",
         fmt::format(
             "{}: {} sizes stall ({}); a link retransmits or another job shares the network.",
             who(sweep), off.size(), joined(off, "; ")),
         sweep.file, sweep.line});
  else if (!off.empty())
    out.push_back({Severity::warning, "bimodal_size",
                   fmt::format("{}: {}; repeat these sizes.", who(sweep), joined(off, "; ")),
                   sweep.file, sweep.line});

  if (!held_up.empty())
    out.push_back({Severity::warning, "held_up_sizes",
                   fmt::format("{}: {} of {} sizes take longer than a larger buffer, or than the "
                               "same bytes in smaller ones: {}; forecasts take what the other "
                               "sizes allow, repeat these.",
                               who(sweep), held_up.size(), rows.size(), joined(held_up)),
                   sweep.file, sweep.line});

  std::vector<std::string> apart;
  for (const Row& row : rows)
    if (row.out_of_place && row.in_place &&
        std::min(row.out_of_place->time_us, row.in_place->time_us) > 0) {
      const double ratio = row.in_place->time_us / row.out_of_place->time_us;
      if (ratio > 1.5 || ratio < 1 / 1.5)
        apart.push_back(fmt::format("{} ({:.2f})", size_text(row.size), ratio));
    }
  if (!apart.empty())
    out.push_back({Severity::warning, "in_place_differs",
                   fmt::format("{}: in-place and out-of-place times differ at {}; they move the "
                               "same bytes, so the timing is unsteady.",
                               who(sweep), joined(apart)),
                   sweep.file, sweep.line});
  if (!rows.empty() && rows.back().size < kBandwidthSize)
    out.push_back({Severity::info, "no_large_sizes",
                   fmt::format("{}: the largest size is {}; bandwidth is not reached there, "
                               "measure up to 1 GiB (-e 1G).",
                               who(sweep), size_text(rows.back().size)),
                   sweep.file, sweep.line});
}

void check_rate(const Sweep& sweep, std::vector<Finding>& out) {
  if (sweep.nodes < 2 || sweep.rows.size() < 3) return;  // no switch between, or nothing to compare
  const Row* best = nullptr;
  for (const Row& row : sweep.rows)
    if (row.size >= kBandwidthSize &&
        (best == nullptr || node_rate_GBps(sweep, row) > node_rate_GBps(sweep, *best)))
      best = &row;
  if (best == nullptr) return;
  const double first = node_rate_GBps(sweep, *best),
               last = node_rate_GBps(sweep, sweep.rows.back()),
               last_but_one = node_rate_GBps(sweep, sweep.rows[sweep.rows.size() - 2]);
  // One slow size may be a stall; the rate stays low when the size before is slow as well.
  if (first > kHeldUp * std::max(last, last_but_one))
    out.push_back({Severity::warning, "rate_falls",
                   fmt::format("{}: what a node sends falls from {:.3g} GB/s at {} to {:.3g} at {} "
                               "and stays there; large transfers meet on a link they share, look "
                               "at which switches lie between the nodes.",
                               who(sweep), first, size_text(best->size), last,
                               size_text(sweep.rows.back().size)),
                   sweep.file, sweep.line});
}
}  // namespace

std::string system_of(const Sweep& sweep) {
  std::string prefix;
  for (const std::string& host : sweep.hosts) {
    std::string stem = host.substr(0, host.find('.'));
    while (!stem.empty() && stem.back() >= '0' && stem.back() <= '9') stem.pop_back();
    if (stem.size() == host.size())
      stem.clear();  // no number at the end: the name says nothing about the system
    if (prefix.empty()) prefix = stem;
  }
  return prefix + "/" + sweep.device;
}

double node_rate_GBps(const Sweep& sweep, const Row& row) {
  const double n = sweep.ranks, g = sweep.ranks_per_node, time_us = row.best().time_us;
  if (time_us <= 0 || n < 2) return 0;
  const double busbw =
      static_cast<double>(row.size) / time_us * 1e-3 * bus_factor(sweep.test, sweep.ranks);
  return sweep.test == Test::all_to_all && n > g ? busbw * g * (n - g) / (n - 1) : busbw;
}

std::vector<std::int64_t> held_up_sizes(const Sweep& sweep) {
  const auto bounded = bounded_times(points_of(sweep));
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < sweep.rows.size(); ++i)
    if (sweep.rows[i].best().time_us > kHeldUp * bounded[i]) sizes.push_back(sweep.rows[i].size);
  return sizes;
}

std::vector<Finding> findings_of(const Sweep& sweep) {
  std::vector<Finding> out;
  check_busbw(sweep, out);
  check_sockets(sweep, out);
  check_sizes(sweep, out);
  check_rate(sweep, out);
  return out;
}

std::vector<Finding> findings_across(std::span<const Sweep> sweeps) {
  std::vector<Finding> out;
  // Peers: same test, world and shape at the same size. A sweep's figure is its busbw at the
  // largest size.
  std::map<std::tuple<std::string, Test, int, int, std::int64_t>, std::vector<const Sweep*>> peers;
  for (const Sweep& sweep : sweeps)
    if (!sweep.rows.empty() && sweep.rows.back().size >= kBandwidthSize && !sweep.hosts.empty())
      peers[{system_of(sweep), sweep.test, sweep.nodes, sweep.ranks_per_node,
             sweep.rows.back().size}]
          .push_back(&sweep);
  // Which partners a host was slow with, and all it ran with: one bad link touches two hosts, a bad
  // node all its links.
  std::map<std::string, std::pair<std::set<std::string>, std::set<std::string>>> partners;
  for (const auto& [key, group] : peers) {
    if (group.size() < 3) continue;
    std::vector<double> rates;
    for (const Sweep* sweep : group) rates.push_back(node_rate_GBps(*sweep, sweep->rows.back()));
    const double typical = median(rates);
    for (std::size_t i = 0; i < group.size(); ++i) {
      const bool is_slow = rates[i] < kSlowPair * typical;
      for (const std::string& host : group[i]->hosts) {
        const std::string partner = joined(group[i]->hosts);
        if (is_slow) partners[host].first.insert(partner);
        partners[host].second.insert(partner);
      }
      if (is_slow)
        out.push_back({Severity::warning, group[i]->nodes > 1 ? "slow_pair" : "slow_node",
                       fmt::format("{}: {:.3g} GB/s at {}, {} equal runs reach {:.3g} (median).",
                                   who(*group[i]), rates[i], size_text(group[i]->rows.back().size),
                                   group.size(), typical),
                       group[i]->file, group[i]->line});
    }
  }
  for (const auto& [host, sets] : partners)
    if (sets.first.size() >= 2 && 2 * sets.first.size() > sets.second.size())
      out.push_back({Severity::error, "slow_node",
                     fmt::format("{} is slow in {} of the {} node sets it ran in: test its links "
                                 "and take it out before calibrating.",
                                 host, sets.first.size(), sets.second.size()),
                     "", 0});
  return out;
}
}  // namespace stepcast::nccl_tests
