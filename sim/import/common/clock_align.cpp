// Clocks of several hosts from what they saw at the same moment: the ends of common collectives.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/core/robust_stats.hpp"
#include "sim/import/common/collective_match.hpp"

namespace stepcast {
namespace {
/// Offsets below this are within what kernels of one collective differ in their ends on one host (a
/// few microseconds).
constexpr Nanoseconds kSameClock = 50'000;
constexpr double kAgree = 100'000;  // pairs that speak for the same offset, ns
constexpr std::size_t kMostCalls =
    400;  // per group, step and kind: enough to vote, few enough to pair them all

/// The window of width 2 kAgree that holds most differences; its median, deviation and size.
struct Vote {
  double offset = 0, residual = 0;
  std::size_t support = 0;
};
Vote window_around(const std::vector<double>& sorted, double low) {
  const auto begin = std::lower_bound(sorted.begin(), sorted.end(), low),
             end = std::upper_bound(begin, sorted.end(), low + 2 * kAgree);
  std::vector<double> inside(begin, end);
  Vote vote;
  vote.support = inside.size();
  if (inside.empty()) return vote;
  vote.offset = median(inside);
  for (double& d : inside) d = std::abs(d - vote.offset);
  vote.residual = median(inside);
  return vote;
}
Vote most_supported(std::vector<double> differences) {
  std::sort(differences.begin(), differences.end());
  std::size_t best = 0, best_at = 0, end = 0;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    while (end < differences.size() && differences[end] <= differences[i] + 2 * kAgree) ++end;
    if (end - i > best) best = end - i, best_at = i;
  }
  if (differences.empty()) return {};
  const Vote same = window_around(differences, -kAgree);
  // One step's collectives look like the next one's, so a false offset of one step has nearly as
  // many pairs: none at all is likelier.
  if (10 * same.support >= 8 * best) return same;
  return window_around(differences, differences[best_at]);
}
}  // namespace

std::vector<ClockOffset> align_clocks(std::vector<RankTrace>& traces, Anomalies& anomalies) {
  std::vector<ClockOffset> offsets(traces.size());
  for (std::size_t t = 0; t < traces.size(); ++t) offsets[t].rank = traces[t].rank;
  if (traces.size() < 2) return offsets;
  const bool are_steps_shared = std::none_of(
      traces.begin(), traces.end(), [](const RankTrace& t) { return t.are_steps_inferred; });
  std::vector<std::map<MatchKey, std::vector<CommunicationEvent>>> calls;
  for (const RankTrace& trace : traces) calls.push_back(communication_of(trace, are_steps_shared));
  // Chains through common groups: start at the first trace, reach others by collectives with
  // already placed ones.
  std::vector<bool> is_placed(traces.size(), false);
  is_placed[0] = true;
  for (bool has_progress = true; has_progress;) {
    has_progress = false;
    for (std::uint32_t t = 1; t < traces.size(); ++t) {
      if (is_placed[t]) continue;
      std::vector<double> differences;
      for (const auto& [key, mine] : calls[t]) {
        std::uint32_t other = 0;
        while (other < traces.size() && (!is_placed[other] || !calls[other].contains(key))) ++other;
        if (other == traces.size()) continue;
        const auto& theirs = calls[other].at(key);
        for (std::size_t i = 0; i < std::min(mine.size(), kMostCalls); ++i)
          for (std::size_t k = 0; k < std::min(theirs.size(), kMostCalls); ++k)
            if (mine[i].bytes == theirs[k].bytes)
              differences.push_back(
                  static_cast<double>(mine[i].end - theirs[k].end + offsets[other].offset));
      }
      if (differences.empty()) continue;
      const Vote vote = most_supported(std::move(differences));
      ClockOffset& o = offsets[t];
      o.matches = static_cast<int>(vote.support);
      o.offset = std::llround(vote.offset), o.residual = std::llround(vote.residual);
      o.is_applied = std::abs(o.offset) > kSameClock && std::abs(o.offset) > 5 * o.residual;
      if (!o.is_applied) o.offset = 0;
      is_placed[t] = has_progress = true;
    }
  }
  for (std::size_t t = 0; t < traces.size(); ++t) {
    if (!is_placed[t])
      anomalies.add("clock_unknown", Severity::warning,
                    "no collective in common with the other ranks: this trace keeps its own clock, "
                    "do not compare moments across ranks",
                    traces[t].file);
    if (!offsets[t].is_applied) continue;
    anomalies.add(
        "clock_shifted", Severity::info,
        "the host clock differed; the trace was shifted so that common collectives end together",
        fmt::format("{} by {:.1f} us, residual {:.1f} us, {} collectives", traces[t].file,
                    static_cast<double>(offsets[t].offset) * 1e-3,
                    static_cast<double>(offsets[t].residual) * 1e-3, offsets[t].matches));
    for (TraceEvent& e : traces[t].events) e.start -= offsets[t].offset;
    for (StepMark& s : traces[t].steps) s.start -= offsets[t].offset, s.end -= offsets[t].offset;
  }
  return offsets;
}
}  // namespace stepcast
