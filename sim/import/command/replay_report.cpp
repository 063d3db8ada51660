#include "sim/import/command/replay_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/io/json.hpp"

namespace stepcast {
namespace {
constexpr double kTogether = 20e-6;  // arrivals closer than this make nobody wait worth naming
}

StepSummary summary_of(const ReplayResult& r) {
  StepSummary s;
  double steps = 0, windows = 0;
  for (const double step : r.step_s)
    if (step > 0) s.step_s += step, ++steps;
  for (const auto& rank : r.ranks)
    for (const auto& step : rank) {
      if (step.window_s <= 0) continue;
      s.window_s += step.window_s, ++windows;
      for (std::size_t k = 0; k < kOwners; ++k) s.owned[k] += step.owned[k];
    }
  if (steps > 0) s.step_s /= steps;
  if (windows > 0) {
    s.window_s /= windows;
    for (double& seconds : s.owned) seconds /= windows;
  }
  return s;
}

std::string pace_text(const StepSummary& s) {
  constexpr double kHostPaced = 0.3, kDevicePaced = 0.05;  // where the words change, no figure does
  const double share = s.launch_bound_share();
  return fmt::format(
      "launch-bound for {:.1f} % of the step{}", 100 * share,
      share > kHostPaced
          ? ": the host sets the pace, a faster GPU or network shows little (see --host, --graphs)"
      : share < kDevicePaced ? ": the device sets the pace"
                             : "");
}

std::string difference_text(const std::string& name, const StepSummary& base,
                            const StepSummary& now, const Change& change) {
  std::string out = fmt::format("\n{}\n  {:<22} {:>12} {:>12} {:>12} {:>9}\n", name, "ms", "base",
                                "changed", "difference", "%");
  const auto row = [&](std::string_view what, double a, double b) {
    out += fmt::format("  {:<22} {:>12.3f} {:>12.3f} {:>+12.3f} {:>9}\n", what, a * 1e3, b * 1e3,
                       (b - a) * 1e3, a > 0 ? fmt::format("{:+.1f}%", 100 * (b / a - 1)) : "");
  };
  row("step", base.step_s, now.step_s);
  row("a rank's step, mean", base.window_s, now.window_s);
  for (std::size_t k = 0; k < kOwners; ++k)
    if (base.owned[k] > 0 || now.owned[k] > 0)
      row(fmt::format("  {}", text_of(static_cast<Owner>(k))), base.owned[k], now.owned[k]);
  out += fmt::format("  {} (before: {:.1f} %)\n", pace_text(now), 100 * base.launch_bound_share());
  out += fmt::format("  rests on: {}\n", change.assumption);
  if (change.ops_changed == 0) out += "  warning: this changed no op of the workload\n";
  return out;
}

Json json_of(const StepSummary& s) {
  Json owned;
  for (std::size_t k = 0; k < kOwners; ++k)
    owned[std::string(text_of(static_cast<Owner>(k))) + "_s"] = s.owned[k];
  return {{"step_s", s.step_s},
          {"rank_step_s", s.window_s},
          {"launch_bound_share", s.launch_bound_share()},
          {"owned", owned}};
}

LateRanks late_ranks_of(const Workload& w, const ReplayResult& r) {
  LateRanks late;
  std::map<int, LateRank> by_rank;
  // Members stand in the order in which they came; a rank's arrival is when its op was ready to
  // start.
  for (const auto& members : r.meetings) {
    const WorkOp& o = w.ranks[members.front().first].ops[members.front().second];
    // A receiver that waits in a pipeline waits for its turn, not for a late rank: collectives
    // alone tell.
    if (o.kind != WorkKind::collective ||
        w.groups[static_cast<std::size_t>(o.group)].kind == GroupKind::pp)
      continue;
    ++late.meetings;
    const double first = r.arrival_s(members.front()), last = r.arrival_s(members.back());
    if (last - first < kTogether) continue;
    LateRank& entry = by_rank[w.ranks[members.back().first].rank];
    entry.rank = w.ranks[members.back().first].rank;
    ++entry.times, entry.cost_s += last - first;
  }
  for (const auto& [rank, entry] : by_rank) late.ranks.push_back(entry);
  std::stable_sort(late.ranks.begin(), late.ranks.end(),
                   [](const LateRank& a, const LateRank& b) { return a.cost_s > b.cost_s; });
  return late;
}
}  // namespace stepcast
