#include "sim/import/replay/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "sim/core/robust_stats.hpp"

namespace stepcast {
namespace {
bool is_transfer(const WorkOp& o) {
  return o.kind == WorkKind::collective || o.kind == WorkKind::send || o.kind == WorkKind::recv;
}
/// A mark carries what the host did between its last call and the mark.
bool is_host_work(const WorkOp& o) {
  return o.kind == WorkKind::host || o.kind == WorkKind::marker;
}
bool is_gradient_reduction(const Workload& w, const WorkOp& o) {
  if (o.kind != WorkKind::collective || o.group < 0) return false;
  const GroupKind kind = w.groups[static_cast<std::size_t>(o.group)].kind;
  return (kind == GroupKind::dp || kind == GroupKind::edp || kind == GroupKind::world) &&
         (o.collective == Collective::all_reduce || o.collective == Collective::reduce_scatter);
}
template <class Visit>
std::int64_t change_ops(Workload& w, Visit&& visit) {
  std::int64_t changed = 0;
  for (WorkRank& rank : w.ranks)
    for (WorkOp& o : rank.ops) changed += visit(rank, o) ? 1 : 0;
  return changed;
}
/// The workload in which the ops that `is_meant` picks take 1/factor of their time.
template <class Pick>
Change with_ops_faster(const Workload& workload, std::string assumption, double factor,
                       Pick&& is_meant) {
  Change c{workload, std::move(assumption), 0};
  c.ops_changed = change_ops(c.workload, [&](const WorkRank&, WorkOp& o) {
    if (!is_meant(o)) return false;
    o.duration_s /= factor;
    return true;
  });
  return c;
}
/// Start-up of each (group, kind of op, collective): the least transfer recorded.
std::map<std::tuple<int, int, int>, double> startups_of(const Workload& w) {
  std::map<std::tuple<int, int, int>, double> least;
  for (const WorkRank& rank : w.ranks)
    for (const WorkOp& o : rank.ops)
      if (is_transfer(o)) {
        const auto [at, is_new] =
            least.emplace(std::tuple{o.group, o.kind == WorkKind::collective ? 0 : 1,
                                     static_cast<int>(o.collective)},
                          o.duration_s);
        if (!is_new) at->second = std::min(at->second, o.duration_s);
      }
  return least;
}
double startup_of(const std::map<std::tuple<int, int, int>, double>& least, const WorkOp& o) {
  // Where every recorded transfer is large the least one still holds bytes: 30 us bounds what NCCL
  // needs to start across nodes.
  constexpr double kMostStartup = 30e-6;
  return std::min(
      least.at({o.group, o.kind == WorkKind::collective ? 0 : 1, static_cast<int>(o.collective)}),
      kMostStartup);
}
}  // namespace

Change with_faster(const Workload& workload, const std::string& part, double factor) {
  return with_ops_faster(workload,
                         fmt::format("compute ops named *{}* take 1/{:g} of their time; all else, "
                                     "launch times included, stays",
                                     part, factor),
                         factor, [&](const WorkOp& o) {
                           return o.kind == WorkKind::compute &&
                                  workload.names.text_of(o.name).find(part) != std::string::npos;
                         });
}

Change with_faster_host(const Workload& workload, double factor) {
  return with_ops_faster(workload,
                         fmt::format("host work between device calls takes 1/{:g} of its time "
                                     "(data loading inside it included)",
                                     factor),
                         factor, is_host_work);
}

Change with_captured_launches(const Workload& workload) {
  // A captured graph is launched once: 2.5 us and about 1 ns a node on CUDA 12.6 (NVIDIA technical
  // blog, "Constant time launch for straight-line CUDA graphs", 2024).
  constexpr double kGraphLaunch = 2.5e-6, kGraphNode = 1e-9;
  // A launch and the framework around it take microseconds; a longer pause of a recorded host is
  // data loading, a wait or other work that no graph holds.
  constexpr double kPause = 1e-3;
  Change c{workload,
           "host work below 1 ms between calls becomes one graph launch a step (2.5 us + 1 ns a "
           "device op); longer pauses stay; shapes and control flow must not change between steps",
           0};
  for (WorkRank& rank : c.workload.ranks) {
    std::map<std::int32_t, std::int64_t> nodes;  // by step
    for (const WorkOp& o : rank.ops) nodes[o.step] += !is_host_work(o);
    std::map<std::int32_t, bool> is_launched;
    for (WorkOp& o : rank.ops) {
      // What a simulated host does is launching.
      const bool is_pause = o.duration_s >= kPause && workload.origin != "scenario";
      if (!is_host_work(o) || o.duration_s <= 0 || is_pause) continue;
      o.duration_s = std::exchange(is_launched[o.step], true)
                         ? 0
                         : kGraphLaunch + kGraphNode * static_cast<double>(nodes[o.step]);
      ++c.ops_changed;
    }
  }
  return c;
}

Change with_network_factors(const Workload& workload, double bandwidth_factor,
                            double latency_factor) {
  const auto least = startups_of(workload);
  Change c{workload,
           fmt::format("every transfer is start-up (its kind's least, at most 30 us) x {:g} + the "
                       "rest / {:g}; algorithms and contention stay as recorded",
                       latency_factor, bandwidth_factor),
           0};
  c.ops_changed = change_ops(c.workload, [&](const WorkRank&, WorkOp& o) {
    if (!is_transfer(o)) return false;
    const double startup = std::min(startup_of(least, o), o.duration_s);
    o.duration_s = startup * latency_factor + (o.duration_s - startup) / bandwidth_factor;
    return true;
  });
  return c;
}

Change with_compression(const Workload& workload, double ratio, double codec_GBps) {
  const auto least = startups_of(workload);
  Change c{workload,
           fmt::format("gradient reductions move {:g} of their bytes and pay encode and decode of "
                       "all bytes at {:g} GB/s before and after; convergence is not modelled",
                       ratio, codec_GBps),
           0};
  c.ops_changed = change_ops(c.workload, [&](const WorkRank&, WorkOp& o) {
    if (!is_gradient_reduction(workload, o)) return false;
    const double startup = std::min(startup_of(least, o), o.duration_s);
    const double codec = 2 * static_cast<double>(o.bytes) / (codec_GBps * 1e9);
    o.duration_s = startup + (o.duration_s - startup) * ratio + codec;
    return true;
  });
  return c;
}

Change with_bucket(const Workload& workload, std::int64_t bucket) {
  // start-up + bytes / bandwidth over the recorded reductions, by least squares.
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, least = 1e300;
  for (const WorkRank& rank : workload.ranks)
    for (const WorkOp& o : rank.ops)
      if (is_gradient_reduction(workload, o) && o.bytes > 0) {
        const double x = static_cast<double>(o.bytes);
        n += 1, sx += x, sy += o.duration_s, sxx += x * x, sxy += x * o.duration_s,
            least = std::min(least, o.duration_s);
      }
  Change c{workload, "", 0};
  if (n < 1) {
    c.assumption = "no gradient reduction with known bytes is recorded: nothing changes";
    return c;
  }
  const double spread = n * sxx - sx * sx;
  double per_byte = spread > 0 ? (n * sxy - sx * sy) / spread : sy / sx;
  if (!(per_byte > 0)) per_byte = sy / sx;
  const double startup = std::clamp((sy - per_byte * sx) / n, 0.0, least);
  c.assumption = fmt::format(
      "a bucket leaves when its last part is ready and takes {:.0f} us + bytes / {:.3g} GB/s, "
      "fitted over {:.0f} recorded reductions",
      startup * 1e6, 1e-9 / per_byte, n);
  for (WorkRank& rank : c.workload.ranks) {
    std::map<std::pair<int, int>, std::vector<std::uint32_t>>
        parts;  // (step, group) -> ops in order
    for (std::uint32_t i = 0; i < rank.ops.size(); ++i)
      if (is_gradient_reduction(workload, rank.ops[i]) && rank.ops[i].bytes > 0)
        parts[{rank.ops[i].step, rank.ops[i].group}].push_back(i);
    for (const auto& [key, list] : parts) {
      // The recorded op that completes a bucket carries all of it; the ones before it shrink to
      // nothing. A bucket smaller than a recorded one splits it into equal pieces in a row, whose
      // start-ups add up.
      std::int64_t filled = 0;
      for (std::size_t k = 0; k < list.size(); ++k) {
        WorkOp& o = rank.ops[list[k]];
        filled += o.bytes;
        const bool is_last = k + 1 == list.size();
        if (filled < bucket && !is_last) {
          o.duration_s = 0;
        } else {
          const double buckets =
              std::max(1.0, std::ceil(static_cast<double>(filled) / static_cast<double>(bucket)));
          o.duration_s = startup * buckets + static_cast<double>(filled) * per_byte;
          filled = 0;
        }
        ++c.ops_changed;
      }
    }
  }
  return c;
}

Change with_data_parallel_size(const Workload& workload, int size) {
  const auto least = startups_of(workload);
  Change c{
      workload,
      fmt::format(
          "data-parallel groups of {} ranks: ring factors, start-up grows with log2 of the ranks, "
          "every added rank as fast as the recorded ones (no new stragglers, no congestion)",
          size),
      0};
  for (WorkGroup& g : c.workload.groups)
    if (g.kind == GroupKind::dp || g.kind == GroupKind::world) g.size = size;
  c.ops_changed = change_ops(c.workload, [&](const WorkRank&, WorkOp& o) {
    if (o.kind != WorkKind::collective) return false;
    const WorkGroup& was = workload.groups[static_cast<std::size_t>(o.group)];
    if ((was.kind != GroupKind::dp && was.kind != GroupKind::world) || was.size < 2) return false;
    const double before = bus_factor(o.collective, was.size),
                 after = bus_factor(o.collective, size);
    const double startup = std::min(startup_of(least, o), o.duration_s);
    o.duration_s = startup * std::max(1.0, std::log2(size)) / std::max(1.0, std::log2(was.size)) +
                   (o.duration_s - startup) * after / before;
    return true;
  });
  return c;
}
}  // namespace stepcast
