#include "sim/import/common/collective_match.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/import/common/step_accounting.hpp"

namespace stepcast {
namespace {
constexpr Nanoseconds kClockSlack = 100'000;  // clocks of aligned traces agree to about this
constexpr Nanoseconds kSameEnd =
    200'000;  // ends of one collective on several ranks: chunks in flight at 10 GB/s and more

/// Calls of several ranks that are one collective.
struct Slot {
  std::vector<std::pair<std::uint32_t, CommunicationEvent>> members;  // (trace, event)
  Nanoseconds last_start = 0, first_end = 0;
  std::int64_t bytes = 0;
  Slot(std::uint32_t trace, const CommunicationEvent& e)
      : last_start(e.start), first_end(e.end), bytes(e.bytes) {
    members.emplace_back(trace, e);
  }
  void add(std::uint32_t trace, const CommunicationEvent& e) {
    members.emplace_back(trace, e);
    last_start = std::max(last_start, e.start), first_end = std::min(first_end, e.end);
    bytes = std::max(bytes, e.bytes);
  }
  bool has_like_bytes(const CommunicationEvent& e) const {
    return bytes == 0 || e.bytes == 0 || bytes == e.bytes;
  }
};

/// Nobody leaves a collective before the last one has come: members overlap in time.
bool is_same_sequence(const std::vector<Slot>& slots,
                      const std::vector<CommunicationEvent>& calls) {
  if (slots.size() != calls.size()) return false;
  for (std::size_t k = 0; k < calls.size(); ++k)
    if (!slots[k].has_like_bytes(calls[k]) ||
        std::max(slots[k].last_start, calls[k].start) >
            std::min(slots[k].first_end, calls[k].end) + kClockSlack)
      return false;
  return true;
}
void merge_by_end(std::vector<Slot>& slots, std::uint32_t trace,
                  const std::vector<CommunicationEvent>& calls) {
  std::vector<Slot> merged;
  std::size_t s = 0, c = 0;
  while (s < slots.size() || c < calls.size()) {
    if (s == slots.size()) {
      merged.emplace_back(trace, calls[c++]);
      continue;
    }
    if (c == calls.size()) {
      merged.push_back(std::move(slots[s++]));
      continue;
    }
    const std::int64_t shorter =
        std::min(calls[c].end - calls[c].start, slots[s].first_end - slots[s].last_start);
    const Nanoseconds tolerance = std::max<Nanoseconds>(kSameEnd, shorter / 10);
    if (std::abs(slots[s].first_end - calls[c].end) <= tolerance &&
        slots[s].has_like_bytes(calls[c])) {
      slots[s].add(trace, calls[c++]);
      merged.push_back(std::move(slots[s++]));
    } else if (slots[s].first_end <= calls[c].end) {
      merged.push_back(std::move(slots[s++]));
    } else {
      merged.emplace_back(trace, calls[c++]);
    }
  }
  slots = std::move(merged);
}
}  // namespace

std::string group_key(const RankTrace& trace, const CollectiveCall& call) {
  if (call.collective == Collective::send_recv && call.peer >= 0 && trace.rank >= 0)
    return call.is_send ? fmt::format("message {} to {}", trace.rank, call.peer)
                        : fmt::format("message {} to {}", call.peer, trace.rank);
  std::string group = call.group.empty() ? "world" : call.group;
  if (!call.ranks.empty()) group += fmt::format(":{}+{}", call.ranks.front(), call.ranks.size());
  return group;
}

std::map<MatchKey, std::vector<CommunicationEvent>> communication_of(const RankTrace& trace,
                                                                     bool are_steps_shared) {
  std::map<MatchKey, std::vector<CommunicationEvent>> calls;
  const auto step_of = steps_of_events(trace);
  for (std::uint32_t i = 0; i < trace.events.size(); ++i) {
    const TraceEvent& e = trace.events[i];
    if (e.kind != EventKind::collective || e.collective == kNone || step_of[i] == kNone) continue;
    const CollectiveCall& call = trace.collectives[e.collective];
    if (call.collective == Collective::send_recv && call.peer < 0)
      continue;  // nothing says whom it met
    calls[{group_key(trace, call), are_steps_shared ? trace.steps[step_of[i]].number : 0,
           call.collective ? static_cast<int>(*call.collective) : -1}]
        .push_back({i, call.bytes, e.start, e.end()});
  }
  for (auto& [key, list] : calls)
    std::stable_sort(list.begin(), list.end(),
                     [](const auto& a, const auto& b) { return a.end < b.end; });
  return calls;
}

std::vector<MatchedCollective> match_collectives(std::span<const RankTrace> traces,
                                                 Anomalies& anomalies) {
  const bool are_steps_shared = std::none_of(
      traces.begin(), traces.end(), [](const RankTrace& t) { return t.are_steps_inferred; });
  std::map<MatchKey, std::vector<Slot>> all;
  std::map<MatchKey, int> owners;
  for (std::uint32_t t = 0; t < traces.size(); ++t)
    for (const auto& [key, calls] : communication_of(traces[t], are_steps_shared)) {
      std::vector<Slot>& slots = all[key];
      if (++owners[key] == 1)
        for (const auto& call : calls) slots.emplace_back(t, call);
      else if (is_same_sequence(slots, calls))
        for (std::size_t k = 0; k < calls.size(); ++k) slots[k].add(t, calls[k]);
      else
        merge_by_end(slots, t, calls);
    }
  std::vector<MatchedCollective> matches;
  for (const auto& [key, slots] : all) {
    if (owners[key] < 2) continue;
    for (const Slot& slot : slots) {
      const auto& [first_trace, first_event] = slot.members.front();
      const CollectiveCall& call =
          traces[first_trace].collectives[traces[first_trace].events[first_event.event].collective];
      if (slot.members.size() < 2) {
        anomalies.add("collectives_unmatched", Severity::warning,
                      "collectives that other recorded ranks of the group lack: a trace is cut or "
                      "thinned there; their waiting stays inside them",
                      traces[first_trace].file);
        continue;
      }
      MatchedCollective m;
      m.collective = call.collective, m.group = std::get<0>(key), m.step = std::get<1>(key),
      m.bytes = slot.bytes;
      std::int64_t least = std::numeric_limits<std::int64_t>::max();
      Nanoseconds first_start = slot.members.front().second.start;
      m.last_trace = first_trace, m.last_start = first_start;
      for (const auto& [trace, e] : slot.members) {
        m.members.push_back({trace, e.event, e.start, e.end});
        if (e.start > m.last_start) m.last_start = e.start, m.last_trace = trace;
        first_start = std::min(first_start, e.start);
        least = std::min(least, e.end - e.start);
      }
      m.spread = seconds_from_ns(m.last_start - first_start);
      m.transfer = seconds_from_ns(least);
      m.is_complete = call.group_size > 0 && static_cast<int>(m.members.size()) == call.group_size;
      matches.push_back(std::move(m));
    }
  }
  std::stable_sort(matches.begin(), matches.end(),
                   [](const auto& a, const auto& b) { return a.last_start < b.last_start; });
  return matches;
}
}  // namespace stepcast
