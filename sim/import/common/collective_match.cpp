#include "sim/import/common/collective_match.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "sim/core/robust_stats.hpp"
#include "sim/import/common/step_accounting.hpp"

namespace stepcast {
namespace {
/// Offsets below this are within what kernels of one collective differ in their ends on one host (a few microseconds).
constexpr Nanoseconds kSameClock = 50'000;

// Group, step number, kind. Kinds are matched apart: several streams or communicators may interleave differently on each rank.
using Key = std::tuple<std::string, std::int64_t, int>;
std::map<Key, std::vector<std::uint32_t>> calls_of(const RankTrace& trace) {
  std::map<Key, std::vector<std::uint32_t>> calls;
  const auto step_of = steps_of_events(trace);
  for (std::uint32_t i = 0; i < trace.events.size(); ++i) {
    const TraceEvent& e = trace.events[i];
    if (e.kind != EventKind::collective || e.collective == kNone || step_of[i] == kNone) continue;
    const CollectiveCall& call = trace.collectives[e.collective];
    if (call.collective == Collective::send_recv) continue;  // two members, each with its own order
    std::string group = call.group.empty() ? "world" : call.group;
    // Group names repeat between disjoint groups of one kind ("2" = my tensor-parallel group): the members tell them apart.
    if (!call.ranks.empty()) group += fmt::format(":{}+{}", call.ranks.front(), call.ranks.size());
    calls[{group, trace.steps[step_of[i]].number, call.collective ? static_cast<int>(*call.collective) : -1}].push_back(i);
  }
  return calls;
}
const CollectiveCall& call_of(const RankTrace& trace, std::uint32_t event) { return trace.collectives[trace.events[event].collective]; }
}  // namespace

std::vector<MatchedCollective> match_collectives(std::span<const RankTrace> traces, Anomalies& anomalies) {
  std::vector<MatchedCollective> matches;
  std::vector<std::map<Key, std::vector<std::uint32_t>>> calls;
  for (const RankTrace& trace : traces) calls.push_back(calls_of(trace));
  std::map<Key, std::vector<std::uint32_t>> owners;  // who has calls under a key
  for (std::uint32_t t = 0; t < traces.size(); ++t)
    for (const auto& [key, list] : calls[t]) owners[key].push_back(t);
  for (const auto& [key, members] : owners) {
    if (members.size() < 2) continue;
    const auto& reference = calls[members.front()].at(key);
    std::vector<std::uint32_t> agreeing;
    for (const std::uint32_t t : members) {
      const auto& list = calls[t].at(key);
      if (list.size() == reference.size()) agreeing.push_back(t);
      else
        anomalies.add("collectives_unmatched", Severity::warning,
                      "two ranks list different collectives for one group and step: one trace is cut or thinned there", traces[t].file);
    }
    if (agreeing.size() < 2) continue;
    for (std::size_t k = 0; k < reference.size(); ++k) {
      MatchedCollective m;
      const CollectiveCall& call = call_of(traces[members.front()], reference[k]);
      m.collective = call.collective, m.group = std::get<0>(key), m.step = std::get<1>(key), m.bytes = call.bytes;
      for (const std::uint32_t t : agreeing) {
        const TraceEvent& e = traces[t].events[calls[t].at(key)[k]];
        m.members.push_back({t, calls[t].at(key)[k], e.start, e.end()});
      }
      const auto last = std::max_element(m.members.begin(), m.members.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
      const auto first = std::min_element(m.members.begin(), m.members.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
      m.last_trace = last->trace, m.last_start = last->start;
      m.spread = seconds_from_ns(last->start - first->start);
      std::int64_t least = last->end - last->start;
      for (const auto& member : m.members) least = std::min(least, member.end - member.start);
      m.transfer = seconds_from_ns(least);
      m.is_complete = call.group_size > 0 && static_cast<int>(m.members.size()) == call.group_size;
      matches.push_back(std::move(m));
    }
  }
  std::sort(matches.begin(), matches.end(), [](const auto& a, const auto& b) { return a.last_start < b.last_start; });
  return matches;
}

std::vector<ClockOffset> align_clocks(std::vector<RankTrace>& traces, Anomalies& anomalies) {
  std::vector<ClockOffset> offsets(traces.size());
  for (std::size_t t = 0; t < traces.size(); ++t) offsets[t].rank = traces[t].rank;
  if (traces.size() < 2) return offsets;
  Anomalies ignored;
  const auto matches = match_collectives(traces, ignored);
  // Chains through common groups: start at the first trace, reach others by collectives with already placed ones.
  std::vector<bool> is_placed(traces.size(), false);
  is_placed[0] = true;
  for (bool has_progress = true; has_progress;) {
    has_progress = false;
    for (std::uint32_t t = 1; t < traces.size(); ++t) {
      if (is_placed[t]) continue;
      std::vector<double> differences;
      for (const MatchedCollective& m : matches) {
        const MatchedCollective::Member *mine = nullptr, *placed = nullptr;
        for (const auto& member : m.members) {
          if (member.trace == t) mine = &member;
          else if (is_placed[member.trace] && placed == nullptr) placed = &member;
        }
        if (mine != nullptr && placed != nullptr)
          differences.push_back(static_cast<double>(mine->end - placed->end + offsets[placed->trace].offset));
      }
      if (differences.empty()) continue;
      const double middle = median(differences);
      for (double& d : differences) d = std::abs(d - middle);
      ClockOffset& o = offsets[t];
      o.matches = static_cast<int>(differences.size());
      o.offset = std::llround(middle), o.residual = std::llround(median(differences));
      o.is_applied = std::abs(o.offset) > kSameClock && std::abs(o.offset) > 5 * o.residual;
      if (!o.is_applied) o.offset = 0;
      is_placed[t] = has_progress = true;
    }
  }
  for (std::size_t t = 0; t < traces.size(); ++t) {
    if (!is_placed[t])
      anomalies.add("clock_unknown", Severity::warning, "no collective in common with the other ranks: this trace keeps its own clock, do not compare moments across ranks",
                    traces[t].file);
    if (!offsets[t].is_applied) continue;
    anomalies.add("clock_shifted", Severity::info, "the host clock differed; the trace was shifted so that matched collectives end together",
                  fmt::format("{} by {:.1f} us, residual {:.1f} us, {} collectives", traces[t].file, static_cast<double>(offsets[t].offset) * 1e-3,
                              static_cast<double>(offsets[t].residual) * 1e-3, offsets[t].matches));
    for (TraceEvent& e : traces[t].events) e.start -= offsets[t].offset;
    for (StepMark& s : traces[t].steps) s.start -= offsets[t].offset, s.end -= offsets[t].offset;
  }
  return offsets;
}
}  // namespace stepcast
