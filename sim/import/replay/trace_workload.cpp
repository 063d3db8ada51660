#include "sim/import/replay/trace_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "sim/import/common/step_accounting.hpp"
#include "sim/import/common/trace_timeline.hpp"
#include "sim/import/replay/common_steps.hpp"
#include "sim/import/replay/replay.hpp"

namespace stepcast {
namespace {
constexpr Nanoseconds kFollows =
    20'000;  // a stream-wait event releases work within a few microseconds
constexpr Nanoseconds kNoticed = 3'000;  // readings of host and device clock agree to about this

/// Where a collective of one event meets its peers.
struct Meeting {
  std::int64_t match = 0;
  std::int64_t transfer = 0;
};
using Meetings = std::map<std::pair<std::uint32_t, std::uint32_t>, Meeting>;  // (trace, event)

/// One op to be, still in clock time.
struct Draft {
  Nanoseconds start = 0, end = 0;
  WorkKind kind = WorkKind::host;
  std::uint32_t event = kNone, lane = 0, name = 0;
  std::int32_t step = -1;
  std::optional<std::uint32_t> waits_for;  // event of the device work that a host call waited for
  bool is_wait = false;                    // the second half of a blocking host call
};

class RankBuilder {
 public:
  RankBuilder(const RankTrace& trace, CommonSteps steps, std::uint32_t index, Nanoseconds zero,
              Workload& w, const Meetings& meetings,
              const std::map<std::string, std::int32_t>& groups)
      : trace_(trace),
        steps_(trace.steps.begin() + static_cast<std::ptrdiff_t>(steps.first),
               trace.steps.begin() + static_cast<std::ptrdiff_t>(steps.first + steps.count)),
        index_(index),
        zero_(zero),
        w_(w),
        meetings_(meetings),
        groups_(groups),
        step_of_(steps_of_events(trace)) {
    for (std::uint32_t& step : step_of_)
      if (step != kNone)
        step = step >= steps.first && step - steps.first < steps.count
                   ? step - static_cast<std::uint32_t>(steps.first)
                   : kNone;
  }

  WorkRank build() {
    draft_device_and_host();
    std::stable_sort(drafts_.begin(), drafts_.end(),
                     [](const Draft& a, const Draft& b) { return a.start < b.start; });
    for (std::uint32_t i = 0; i < drafts_.size(); ++i)
      if (drafts_[i].event != kNone && drafts_[i].kind != WorkKind::marker && !drafts_[i].is_wait)
        draft_of_event_[drafts_[i].event] = i;
    return emit();
  }

 private:
  std::uint16_t lane_of(std::uint32_t track) {
    const auto [at, is_new] = lanes_.emplace(track, static_cast<std::uint16_t>(rank_.lanes.size()));
    if (is_new) rank_.lanes.push_back(trace_.tracks[track].label);
    return at->second;
  }
  std::int32_t step_at(Nanoseconds t) const {
    std::int32_t found = -1;
    for (std::size_t s = 0; s < steps_.size() && steps_[s].start <= t; ++s)
      found = static_cast<std::int32_t>(s);
    return found;
  }
  /// The thread whose events carry the step marks, or the one with most launches.
  std::uint32_t main_track() const {
    std::map<std::uint32_t, std::int64_t> launches;
    for (const TraceEvent& e : trace_.events) {
      if ((e.kind == EventKind::annotation || e.kind == EventKind::host_op) &&
          trace_.names.text_of(e.name).starts_with("ProfilerStep"))
        return e.track;
      if (!trace_.tracks[e.track].is_device)
        launches[e.track] += e.kind == EventKind::launch ? 1 : 0;
    }
    std::uint32_t best = 0;
    std::int64_t most = -1;
    for (const auto& [track, count] : launches)
      if (count > most) best = track, most = count;
    return best;
  }

  void draft_device_and_host() {
    const Nanoseconds begin = steps_.front().start, end = steps_.back().end;
    const std::uint32_t main = main_track();
    const auto add_marker = [&](Nanoseconds at, std::int32_t step) {
      Draft d;
      d.start = d.end = at, d.kind = WorkKind::marker, d.lane = main, d.step = step;
      drafts_.push_back(d);
    };
    for (std::size_t s = 0; s < steps_.size(); ++s)
      add_marker(steps_[s].start, static_cast<std::int32_t>(s));
    add_marker(end, -1);
    // Latest device end known to have been waited for needs the device work first.
    std::vector<std::pair<Nanoseconds, std::uint32_t>> device_ends;  // (end, event)
    for (std::uint32_t i = 0; i < trace_.events.size(); ++i) {
      const TraceEvent& e = trace_.events[i];
      if (!e.is_on_device() || !trace_.tracks[e.track].is_device || step_of_[i] == kNone) continue;
      Draft d;
      d.start = e.start, d.end = e.end(), d.event = i, d.lane = e.track,
      d.step = static_cast<std::int32_t>(step_of_[i]), d.name = e.name;
      d.kind = e.kind == EventKind::kernel       ? WorkKind::compute
               : e.kind == EventKind::collective ? WorkKind::collective
                                                 : WorkKind::copy;
      drafts_.push_back(d);
      device_ends.emplace_back(e.end(), i);
    }
    std::sort(device_ends.begin(), device_ends.end());
    std::map<std::uint32_t, std::uint32_t> first_device_of;  // launch event -> its device event
    for (const auto& [ignored, i] : device_ends)
      if (trace_.events[i].launch != kNone) first_device_of.emplace(trace_.events[i].launch, i);
    for (std::uint32_t i = 0; i < trace_.events.size(); ++i) {
      const TraceEvent& e = trace_.events[i];
      const bool is_gloo = e.kind == EventKind::collective && !trace_.tracks[e.track].is_device;
      if ((e.kind != EventKind::launch && e.kind != EventKind::sync && !is_gloo) ||
          e.start < begin || e.start >= end)
        continue;
      Draft d;
      d.start = e.start, d.end = e.end(), d.event = i, d.lane = e.track, d.step = step_at(e.start),
      d.name = e.name;
      d.kind = is_gloo ? WorkKind::collective : WorkKind::host;
      // Which device work did the call wait for? The last one that ended while it ran and was
      // launched before it.
      std::uint32_t waited = kNone;
      const auto own = first_device_of.find(i);
      if (e.kind == EventKind::sync) {
        auto after = std::upper_bound(device_ends.begin(), device_ends.end(),
                                      std::pair{e.end() + kNoticed, kNone});
        while (after != device_ends.begin()) {
          --after;
          if (after->first <= e.start) break;
          const TraceEvent& device = trace_.events[after->second];
          if (device.launch == kNone || trace_.events[device.launch].start < e.start) {
            waited = after->second;
            break;
          }
        }
      } else if (own != first_device_of.end() &&
                 trace_.events[own->second].end() <= e.end() + kNoticed &&
                 trace_.events[own->second].end() > e.start) {
        waited = own->second;
      }
      if (own != first_device_of.end())
        d.end = std::clamp(trace_.events[own->second].start, e.start,
                           e.end());  // work may start before the call returns
      if (waited == kNone) {
        drafts_.push_back(d);
        continue;
      }
      const Nanoseconds done = std::min(trace_.events[waited].end(), e.end());
      if (own == first_device_of.end()) d.end = e.start;
      Draft wait = d;
      drafts_.push_back(d);
      wait.start = std::max(done, d.end), wait.end = e.end(), wait.is_wait = true;
      wait.waits_for = waited;
      drafts_.push_back(wait);
    }
  }

  WorkRank emit() {
    rank_.rank = trace_.rank >= 0 ? trace_.rank : static_cast<int>(index_);
    std::map<std::uint32_t, std::uint32_t> last_on_track;  // track -> op
    std::map<std::uint32_t, Nanoseconds> free_at;          // track -> clock
    std::vector<std::pair<Nanoseconds, std::uint32_t>>
        recent_device;  // (end, op) in order of end, a short tail
    std::vector<std::uint32_t> op_of_draft(drafts_.size(), kNone);
    std::map<std::uint32_t, std::pair<Nanoseconds, std::uint32_t>> last_host;  // track -> (end, op)
    for (std::uint32_t i = 0; i < drafts_.size(); ++i) {
      const Draft& d = drafts_[i];
      const auto mine = static_cast<std::uint32_t>(rank_.ops.size());
      WorkOp o;
      o.kind = d.kind, o.lane = lane_of(d.lane), o.step = d.step;
      o.name = w_.names.id_of(
          d.kind == WorkKind::marker
              ? (d.step < 0
                     ? "end"
                     : fmt::format("step {}", w_.steps[static_cast<std::size_t>(d.step)].number))
              : trace_.names.text_of(d.name));
      // A step mark has no event; it lies on a device track where a trace has no host thread.
      const bool is_device = d.event != kNone && trace_.tracks[d.lane].is_device;
      const auto before = free_at.find(d.lane);
      Nanoseconds ready = before == free_at.end() ? zero_ : before->second;
      const auto wait_for = [&](std::uint32_t op, Nanoseconds at) {
        o.after.push_back(op);
        ready = std::max(ready, at);
      };
      if (is_device) {
        const TraceEvent& e = trace_.events[d.event];
        if (e.launch != kNone)
          if (const auto found = draft_of_event_.find(e.launch);
              found != draft_of_event_.end() && op_of_draft[found->second] != kNone)
            wait_for(op_of_draft[found->second], drafts_[found->second].end);
        if (d.start - ready > kFollows)
          for (auto other = recent_device.rbegin(); other != recent_device.rend(); ++other) {
            if (other->first > d.start + kNoticed) continue;
            if (d.start - other->first > kFollows) break;
            if (rank_.ops[other->second].lane != o.lane) {
              wait_for(other->second, std::min(other->first, d.start));
              break;
            }
          }
        o.delay_s = seconds_from_ns(std::max<Nanoseconds>(0, d.start - ready)).value;
        o.duration_s = seconds_from_ns(d.end - d.start).value;
        if (d.kind == WorkKind::collective) meet(d.event, o);
      } else {
        if (d.waits_for)
          if (const auto found = draft_of_event_.find(*d.waits_for);
              found != draft_of_event_.end() && op_of_draft[found->second] != kNone)
            wait_for(op_of_draft[found->second], drafts_[found->second].end);
        // A pause during which another thread worked: this call follows that one.
        Nanoseconds other_end = ready;
        std::uint32_t other_op = kNone;
        for (const auto& [track, last] : last_host)
          if (track != d.lane && last.first > other_end && last.first <= d.start)
            other_end = last.first, other_op = last.second;
        if (other_op != kNone) wait_for(other_op, other_end);
        // The host's own work since then is its duration; a call made early cannot make it
        // negative.
        if (d.kind == WorkKind::collective) {
          o.delay_s = seconds_from_ns(std::max<Nanoseconds>(0, d.start - ready)).value;
          o.duration_s = seconds_from_ns(d.end - d.start).value;
          meet(d.event, o);
        } else {
          o.duration_s = seconds_from_ns(std::max<Nanoseconds>(0, d.end - ready)).value;
        }
        last_host[d.lane] = {d.end, mine};
      }
      std::sort(o.after.begin(), o.after.end());
      o.after.erase(std::unique(o.after.begin(), o.after.end()), o.after.end());
      op_of_draft[i] = mine;
      free_at[d.lane] = std::max(ready, d.end);
      if (is_device) {
        auto at =
            std::upper_bound(recent_device.begin(), recent_device.end(), std::pair{d.end, kNone});
        recent_device.insert(at, {d.end, mine});
        if (recent_device.size() > 256) recent_device.erase(recent_device.begin());
      }
      rank_.ops.push_back(std::move(o));
    }
    return std::move(rank_);
  }
  void meet(std::uint32_t event, WorkOp& o) {
    const CollectiveCall& call = trace_.collectives[trace_.events[event].collective];
    o.bytes = call.bytes;
    o.collective = call.collective.value_or(Collective::broadcast);
    o.name = w_.names.id_of(call.source == CollectiveSource::kernel_name ||
                                    call.source == CollectiveSource::unknown
                                ? trace_.names.text_of(trace_.events[event].name)
                                : call.name);
    o.group = groups_.at(group_key(trace_, call));
    const auto found = meetings_.find({index_, event});
    if (found != meetings_.end()) {
      o.match = found->second.match;
      o.duration_s = seconds_from_ns(found->second.transfer).value;
    } else {
      o.match = (std::int64_t{1} << 40) * (index_ + 1) +
                event;  // alone: its own duration, waiting for absent ranks included
    }
  }

  const RankTrace& trace_;
  const std::vector<StepMark> steps_;  // those that every rank recorded
  std::uint32_t index_;
  Nanoseconds zero_;
  Workload& w_;
  const Meetings& meetings_;
  const std::map<std::string, std::int32_t>& groups_;
  std::vector<std::uint32_t> step_of_;
  std::vector<Draft> drafts_;
  std::map<std::uint32_t, std::uint32_t> draft_of_event_;
  std::map<std::uint32_t, std::uint16_t> lanes_;
  WorkRank rank_;
};
/// Host work between two recorded calls is fixed in a replay: where it makes up the step, a faster
/// network or GPU shows little.
void note_host_time(Workload& w) {
  constexpr double kPause = 1e-3;  // a call and the Python around it take microseconds; more is a
                                   // wait or work that was not recorded
  double pauses = 0, all = 0;
  for (const WorkRank& rank : w.ranks)
    for (const WorkOp& o : rank.ops)
      if (o.kind == WorkKind::host && o.duration_s > kPause) pauses += o.duration_s;
  for (const WorkStep& step : w.steps) all += step.measured_s * static_cast<double>(w.ranks.size());
  if (all > 0 && pauses > 0.2 * all)
    w.notes.push_back(
        fmt::format("host pauses above 1 ms without a recorded call fill {:.0f} % of the steps: "
                    "they are taken as the host's own work and stay when network or GPU change",
                    100 * std::min(1.0, pauses / all)));
}
}  // namespace

Workload workload_of(std::span<const RankTrace> traces, Anomalies& anomalies) {
  Workload w;
  w.origin = traces.empty() ? "" : traces.front().format;
  w.rule = StepRule::period;
  std::map<std::string, std::int32_t> groups;
  Nanoseconds zero = std::numeric_limits<Nanoseconds>::max();
  const std::vector<CommonSteps> common = common_steps(traces);
  std::int64_t left_out = 0;
  for (std::size_t t = 0; t < traces.size(); ++t) {
    const RankTrace& trace = traces[t];
    if (trace.steps.empty()) continue;
    zero = std::min(zero, trace.steps[common[t].first].start);
    left_out += static_cast<std::int64_t>(trace.steps.size() - common[t].count);
    for (const CollectiveCall& call : trace.collectives) {
      const std::string name = group_key(trace, call);
      const auto [at, is_new] = groups.emplace(name, static_cast<std::int32_t>(w.groups.size()));
      if (is_new) {
        const bool is_message = call.collective == Collective::send_recv && call.peer >= 0;
        // A group that nothing describes and no number bounds is the world's.
        const int size = is_message ? 2 : call.group_size > 0 ? call.group_size : trace.world;
        w.groups.push_back({name, is_message ? GroupKind::pp : group_kind_of(call), size,
                            is_message ? std::vector{std::min(trace.rank, call.peer),
                                                     std::max(trace.rank, call.peer)}
                                       : call.ranks});
      }
    }
  }
  if (zero == std::numeric_limits<Nanoseconds>::max()) return w;
  anomalies.add("steps_of_some_ranks", Severity::warning,
                "steps that not every rank recorded are left out of the workload",
                traces.front().file, left_out);
  for (std::size_t t = 0; t < traces.size(); ++t)
    for (std::size_t s = 0; s < common[t].count; ++s) {
      const std::vector<StepMark>& steps = traces[t].steps;
      const std::size_t own = common[t].first + s;
      if (s == w.steps.size()) w.steps.push_back({steps[own].number, 0});
      const Nanoseconds end = own + 1 < steps.size() ? steps[own + 1].start : steps[own].end;
      w.steps[s].measured_s =
          std::max(w.steps[s].measured_s, seconds_from_ns(end - steps[own].start).value);
    }
  Meetings meetings;
  std::int64_t id = 0;
  for (const MatchedCollective& m : match_collectives(traces, anomalies)) {
    ++id;
    for (const auto& member : m.members)
      meetings[{member.trace, member.event}] = {id, ns_from_seconds(m.transfer)};
  }
  for (std::uint32_t t = 0; t < traces.size(); ++t)
    if (!traces[t].steps.empty())
      w.ranks.push_back(RankBuilder(traces[t], common[t], t, zero, w, meetings, groups).build());
  if (!traces.front().devices.empty()) w.device = traces.front().devices.front();
  anomalies.add("collectives_out_of_order", Severity::warning,
                "collectives that the recorded ranks start in orders that cannot meet: each takes "
                "its own time, waiting included",
                traces.front().file, dissolve_impossible_meetings(w));
  note_host_time(w);
  const auto blind = static_cast<int>(std::count_if(traces.begin(), traces.end(), lacks_kernels));
  if (blind > 0)
    w.notes.push_back(
        fmt::format("{} of {} ranks recorded device work without a compute kernel: what the GPU "
                    "computed lies inside host time, so no answer about compute holds for them",
                    blind, traces.size()));
  for (const WorkGroup& g : w.groups)
    if (g.size > static_cast<int>(w.ranks.size()) && g.kind != GroupKind::pp)
      w.notes.push_back(
          fmt::format("group {} has {} ranks, {} are recorded: waiting for the others is inside "
                      "their collectives",
                      g.name, g.size, w.ranks.size()));
  return w;
}
}  // namespace stepcast
