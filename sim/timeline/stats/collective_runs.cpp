#include <algorithm>
#include <map>

#include "sim/timeline/stats/collectives.hpp"

namespace stepcast::trace {
namespace {
struct Member {
  SliceId slice = 0;
  RankId rank = 0;
  Nanoseconds arrival = 0, start = 0, end = 0;
};

/// nccl-tests' factor from algorithm to bus bandwidth (its doc/PERFORMANCE.md).
double bus_factor(const std::string& kind, double n) {
  if (n < 2) return 0;
  if (kind == "all_reduce") return 2 * (n - 1) / n;
  if (kind == "all_gather" || kind == "reduce_scatter" || kind == "all_to_all") return (n - 1) / n;
  return kind == "broadcast" || kind == "reduce" || kind == "send_recv" ? 1 : 0;
}

/// Puts the members in order of their ranks.
CollectiveRun run_of(std::vector<Member>& members, const TraceStore& trace) {
  std::sort(members.begin(), members.end(),
            [](const Member& a, const Member& b) { return a.rank < b.rank; });
  CollectiveRun run;
  run.op = trace.op_id(members.front().slice);
  run.first_arrival = members.front().arrival, run.last_arrival = members.front().arrival,
  run.last_rank = members.front().rank;
  run.end = members.front().end;
  run.members.reserve(members.size());
  for (const Member& m : members) {
    run.members.push_back(m.slice);
    run.first_arrival = std::min(run.first_arrival, m.arrival);
    if (m.arrival > run.last_arrival) run.last_arrival = m.arrival, run.last_rank = m.rank;
    run.end = std::max(run.end, m.end);
  }
  return run;
}
void measure(CollectiveRun& run) {
  const double n = run.group_size > 0 ? run.group_size : static_cast<double>(run.members.size());
  if (run.bytes > 0 && run.transfer() > 0)
    run.busbw_GBps = static_cast<double>(run.bytes) / static_cast<double>(run.transfer()) *
                     bus_factor(run.kind, n);
}

/// Calls of one kind in one group: by order where all ranks list the same number, else by common
/// end.
void match_by_end(std::vector<Member>& members, Nanoseconds tolerance, const TraceStore& trace,
                  std::vector<CollectiveRun>& runs) {
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return a.end != b.end ? a.end < b.end : a.rank < b.rank;
  });
  std::vector<Member> open;
  std::vector<std::size_t> met_in(trace.ranks().size(), 0);  // the run that a rank was last seen in
  std::size_t run = 1;
  for (const Member& m : members) {
    if (!open.empty() && (m.end - open.front().end > tolerance || met_in[m.rank] == run)) {
      runs.push_back(run_of(open, trace));
      open.clear();
      ++run;
    }
    open.push_back(m);
    met_in[m.rank] = run;
  }
  if (!open.empty()) runs.push_back(run_of(open, trace));
}
}  // namespace

Nanoseconds arrival_of(const TraceStore& trace, SliceId member) {
  const Nanoseconds start = trace.start(member);
  if (member == 0 || trace.end(member - 1) != start) return start;
  const Op &before = trace.op(member - 1), &op = trace.op(member);
  return before.shown == SliceCategory::straggler_wait && before.name == op.name
             ? trace.start(member - 1)
             : start;
}

std::vector<CollectiveRun> collective_runs(const TraceStore& trace, Nanoseconds tolerance) {
  if (trace.origin() == "simulated") tolerance = 0;
  std::vector<CollectiveRun> runs;
  std::vector<char> is_stated(trace.slices(), 0);
  const auto member_of = [&](SliceId s, RankId rank) {
    return Member{s, rank, arrival_of(trace, s), trace.start(s), trace.end(s)};
  };

  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<const CollectiveSlice*>> stated;
  for (const CollectiveSlice& c : trace.collectives()) {
    is_stated[c.slice] = 1;
    stated[{c.kind, c.group}].push_back(&c);
  }
  for (const auto& [key, list] : stated) {
    std::map<RankId, std::vector<const CollectiveSlice*>> by_rank;
    for (const CollectiveSlice* c : list) by_rank[trace.rank_of(c->slice)].push_back(c);
    const std::string kind(trace.text(key.first)), group(trace.text(key.second));
    const std::size_t calls = by_rank.begin()->second.size();
    bool is_even = kind != "send_recv";
    for (auto& [rank, mine] : by_rank) {
      is_even &= mine.size() == calls;
      std::sort(mine.begin(), mine.end(), [&](const auto* a, const auto* b) {
        return trace.start(a->slice) < trace.start(b->slice);
      });
    }
    const std::size_t first = runs.size();
    if (is_even) {
      for (std::size_t i = 0; i < calls; ++i) {
        std::vector<Member> members;
        for (const auto& [rank, mine] : by_rank) members.push_back(member_of(mine[i]->slice, rank));
        runs.push_back(run_of(members, trace));
        runs.back().bytes = by_rank.begin()->second[i]->bytes;
      }
    } else {
      std::vector<Member> members;
      std::map<SliceId, std::int64_t> bytes;
      for (const auto& [rank, mine] : by_rank)
        for (const CollectiveSlice* c : mine)
          members.push_back(member_of(c->slice, rank)), bytes[c->slice] = c->bytes;
      match_by_end(members, tolerance, trace, runs);
      for (std::size_t i = first; i < runs.size(); ++i)
        runs[i].bytes = bytes[runs[i].members.front()];
    }
    for (std::size_t i = first; i < runs.size(); ++i) {
      runs[i].kind = kind, runs[i].group = group, runs[i].group_size = list.front()->group_size;
      // A simulated member stands for its lockstep peers and folded replicas.
      runs[i].is_complete =
          trace.origin() == "simulated" ||
          (runs[i].group_size > 0 && runs[i].members.size() == runs[i].group_size);
    }
  }

  // Nothing stated: by name and common end. Tensor-parallel groups stay inside a node, so that
  // equal replicas are not taken for one group.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Member>> unstated;
  for (LaneId lane = 0; lane < trace.lanes().size(); ++lane) {
    const LaneInfo& l = trace.lanes()[lane];
    const RankId rank = trace.tracks()[l.track].rank;
    for (SliceId s = l.first; s < l.first + l.count; ++s) {
      const Op& op = trace.op(s);
      if (!is_communication(op.shown) || is_stated[s] != 0 || trace.duration(s) == 0) continue;
      const std::string_view name = trace.text(op.name);
      if (name.ends_with("send") || name.ends_with("recv") || name.ends_with("SendRecv"))
        continue;  // messages: arrows tell their partner
      const std::uint32_t node =
          op.shown == SliceCategory::exposed_tp ? trace.ranks()[rank].node + 1 : 0;
      unstated[{op.name, node}].push_back(member_of(s, rank));
    }
  }
  for (auto& [key, members] : unstated) {
    const std::size_t first = runs.size();
    match_by_end(members, tolerance, trace, runs);
    for (std::size_t i = first; i < runs.size(); ++i) runs[i].kind = trace.text(key.first);
  }
  for (CollectiveRun& run : runs) measure(run);
  std::stable_sort(runs.begin(), runs.end(),
                   [](const CollectiveRun& a, const CollectiveRun& b) { return a.end < b.end; });
  return runs;
}

void number_steps(std::vector<CollectiveRun>& runs, const TraceStore& trace, const Steps& steps) {
  for (CollectiveRun& run : runs) {
    const SliceId first = run.members.front();
    const int step = steps.step_at(trace.rank_of(first), trace.start(first));
    run.step = step < 0 ? -1 : steps.numbers[static_cast<std::size_t>(step)];
  }
}
}  // namespace stepcast::trace
