#include "sim/import/replay/diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/collective/collective_model.hpp"
#include "sim/core/counted.hpp"
#include "sim/core/robust_stats.hpp"
#include "sim/import/common/intervals.hpp"
#include "sim/import/common/step_accounting.hpp"

namespace stepcast {
namespace {
constexpr double kGap = 5e-6;     // pauses between kernels shorter than this are the device's own
constexpr double kSteady = 0.05;  // step spread that is normal

std::string rank_text(const RankTrace& trace) {
  return trace.rank >= 0 ? fmt::format("rank {}", trace.rank)
                         : trace.file.substr(trace.file.rfind('/') + 1);
}
double ms(double seconds) { return seconds * 1e3; }

void step_time(std::span<const RankTrace> traces,
               const std::vector<std::vector<StepAccount>>& accounts,
               std::vector<DiagnosisLine>& out) {
  std::vector<double> periods;
  std::pair<double, std::string> slowest{0, ""};
  for (std::size_t t = 0; t < traces.size(); ++t)
    for (const StepAccount& a : accounts[t]) {
      periods.push_back(a.period.value);
      if (a.period.value > slowest.first)
        slowest = {a.period.value, fmt::format("step {} of {}", a.number, rank_text(traces[t]))};
    }
  const double middle = median(periods),
               spread =
                   middle > 0 ? (quantile(periods, 0.95) - quantile(periods, 0.05)) / middle : 0;
  out.push_back(
      {spread > 0.2 ? Severity::warning : Severity::info, "step time",
       fmt::format(
           "{}, median {:.2f} ms, 5-95 % spread {:.1f} %{}", counted(periods.size(), "step"),
           ms(middle), 100 * spread,
           spread > kSteady ? fmt::format("; slowest {:.2f} ms", ms(slowest.first)) : "; steady"),
       slowest.second});
}

/// Device idle time inside a step in which the next kernel was not yet launched: the host sets the
/// pace.
struct Idle {
  double host = 0, other = 0;
  std::string largest_where;
  double largest = 0;
};
Idle idle_of(const RankTrace& trace, double& period) {
  Idle idle;
  const auto step_of = steps_of_events(trace);
  std::vector<std::uint32_t> device;
  for (std::uint32_t i = 0; i < trace.events.size(); ++i)
    if (trace.events[i].is_on_device() && trace.tracks[trace.events[i].track].is_device &&
        step_of[i] != kNone)
      device.push_back(i);
  Nanoseconds busy_until = trace.steps.empty() ? 0 : trace.steps.front().start;
  period += trace.steps.empty()
                ? 0
                : seconds_from_ns(trace.steps.back().end - trace.steps.front().start).value;
  for (const std::uint32_t i : device) {
    const TraceEvent& e = trace.events[i];
    if (const double gap = seconds_from_ns(e.start - busy_until).value; gap > kGap) {
      // Until its launch call began the device could not have started; what is left is something
      // else (events, copies, clocks).
      const Nanoseconds launched =
          e.launch == kNone ? busy_until
                            : std::clamp(trace.events[e.launch].start, busy_until, e.start);
      idle.host += seconds_from_ns(launched - busy_until).value;
      idle.other += seconds_from_ns(e.start - launched).value;
      if (gap > idle.largest) {
        idle.largest = gap;
        idle.largest_where =
            fmt::format("{:.2f} ms before {} in step {}", ms(gap),
                        trace.names.text_of(e.name).substr(0, 40), trace.steps[step_of[i]].number);
      }
    }
    busy_until = std::max(busy_until, e.end());
  }
  return idle;
}

double data_loading_of(
    const RankTrace& trace) {  // host inside the loader, on any thread that marks it
  double sum = 0;
  for (const TraceEvent& e : trace.events)
    if (e.kind == EventKind::host_op || e.kind == EventKind::annotation) {
      const std::string& name = trace.names.text_of(e.name);
      if (name.find("DataLoader") != std::string::npos &&
          name.find("__next__") != std::string::npos)
        sum += seconds_from_ns(e.duration).value;
    }
  return sum;
}
/// Exposed seconds of each group, largest first. A moment with two groups on the wire belongs to
/// the first by name, so the parts sum.
std::vector<std::pair<double, std::string>> exposed_by_group(std::span<const RankTrace> traces) {
  std::map<std::string, double> seconds;
  for (const RankTrace& trace : traces) {
    const auto step_of = steps_of_events(trace);
    Intervals taken;
    std::map<std::string, Intervals> groups;
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      const TraceEvent& e = trace.events[i];
      if (step_of[i] == kNone) continue;
      if (e.kind == EventKind::kernel) taken.add(e.start, e.end());
      if (e.kind != EventKind::collective || e.collective == kNone) continue;
      const CollectiveCall& call = trace.collectives[e.collective];
      groups[!call.group_description.empty() ? call.group_description
             : call.group.empty()            ? "world"
                                             : "group " + call.group]
          .add(e.start, e.end());
    }
    for (const auto& [name, moments] : groups) {
      seconds[name] += seconds_from_ns(moments.length_outside(taken)).value;
      for (const auto& [start, end] : moments.merged()) taken.add(start, end);
    }
  }
  std::vector<std::pair<double, std::string>> list;
  for (const auto& [name, sum] : seconds) list.emplace_back(sum, name);
  std::sort(list.rbegin(), list.rend());
  return list;
}
}  // namespace

std::vector<DiagnosisLine> diagnosis_of(std::span<const RankTrace> traces,
                                        const CollectiveProfile* profile) {
  std::vector<DiagnosisLine> out;
  std::vector<std::vector<StepAccount>> accounts;
  double steps = 0, step_count = 0, compute = 0, communication = 0, exposed = 0;
  for (const RankTrace& trace : traces) {
    accounts.push_back(accounts_of(trace));
    for (const StepAccount& a : accounts.back())
      ++step_count, steps += a.period.value, compute += a.compute.value,
          communication += a.communication.value, exposed += a.exposed_communication.value;
  }
  if (steps <= 0) return out;
  step_time(traces, accounts, out);
  const auto blind = std::find_if(traces.begin(), traces.end(), lacks_kernels);
  if (blind == traces.end())
    out.push_back({Severity::info, "GPU time",
                   fmt::format("compute {:.1f} % of the step, communication {:.1f} %",
                               100 * compute / steps, 100 * communication / steps),
                   ""});
  else
    out.push_back({Severity::error, "GPU time",
                   fmt::format("no compute kernel of {} was recorded: what its GPU computed, "
                               "waited for or could overlap is unknown",
                               rank_text(*blind)),
                   blind->file});

  Anomalies ignored;
  const auto matches = match_collectives(traces, ignored);
  if (communication > 0) {
    // Waiting shows only between ranks that were both recorded.
    std::map<std::uint32_t, std::pair<int, double>>
        last;  // trace -> times last, seconds it made others wait
    double waiting = 0;
    for (const MatchedCollective& m : matches) {
      for (const auto& member : m.members)
        waiting += seconds_from_ns(m.last_start - member.start).value;
      if (m.spread.value > 20e-6) {
        auto& [count, lost] = last[m.last_trace];
        ++count;
        lost += m.spread.value;
      }
    }
    out.push_back(
        {exposed / steps > 0.2 ? Severity::warning : Severity::info, "exposed communication",
         fmt::format(
             "{:.2f} ms a step ({:.1f} %) of {:.2f} ms communication is not hidden behind "
             "compute{}",
             ms(exposed) / step_count, 100 * exposed / steps, ms(communication) / step_count,
             matches.empty() ? ""
                             : fmt::format("; {:.1f} % of communication is waiting for late ranks",
                                           100 * std::min(1.0, waiting / communication))),
         ""});
    if (const auto groups = exposed_by_group(traces); groups.size() > 1) {
      std::string text;
      for (std::size_t i = 0; i < groups.size() && i < 4; ++i)
        text += fmt::format("{}{} {:.2f} ms", i == 0 ? "" : ", ", groups[i].second,
                            ms(groups[i].first) / step_count);
      out.push_back({Severity::info, "exposed by group", text + " a step", ""});
    }
    const double possible = std::min(communication, compute), achieved = communication - exposed;
    out.push_back({Severity::info, "overlap",
                   fmt::format("{:.0f} % of the {:.2f} ms that could hide behind compute do",
                               possible > 0 ? 100 * achieved / possible : 0.0, ms(possible)),
                   ""});
    std::uint32_t worst = 0;
    for (const auto& [trace, entry] : last)
      if (!last.contains(worst) || entry.second > last[worst].second) worst = trace;
    if (!last.empty() && last.contains(worst))
      out.push_back({last[worst].second / steps > 0.02 ? Severity::warning : Severity::info,
                     "late rank",
                     fmt::format("{} arrives last in {} of {} collectives and makes the first one "
                                 "wait {:.2f} ms in sum",
                                 rank_text(traces[worst]), last[worst].first, matches.size(),
                                 ms(last[worst].second)),
                     traces[worst].file});
    if (!matches.empty()) {
      const auto widest =
          std::max_element(matches.begin(), matches.end(),
                           [](const auto& a, const auto& b) { return a.spread < b.spread; });
      out.push_back({Severity::info, "widest arrival",
                     fmt::format("{} of {} bytes in step {}: first and last rank are {:.2f} ms "
                                 "apart, transfer at most {:.2f} ms",
                                 widest->collective ? text_of(*widest->collective) : "collective",
                                 widest->bytes, widest->step, ms(widest->spread.value),
                                 ms(widest->transfer.value)),
                     rank_text(traces[widest->last_trace])});
    }
  }
  double period = 0;
  Idle idle;
  double loading = 0;
  for (const RankTrace& trace : traces) {
    const Idle mine = idle_of(trace, period);
    idle.host += mine.host, idle.other += mine.other;
    if (mine.largest > idle.largest)
      idle.largest = mine.largest,
      idle.largest_where = rank_text(trace) + ": " + mine.largest_where;
    loading += data_loading_of(trace);
  }
  if (period > 0 && communication + compute > 0 && blind == traces.end()) {
    out.push_back(
        {idle.host / period > 0.3   ? Severity::error
         : idle.host / period > 0.1 ? Severity::warning
                                    : Severity::info,
         "host-bound",
         fmt::format("the GPU waits for the next launch {:.1f} % of the time{}",
                     100 * idle.host / period,
                     idle.host / period > 0.1 ? ": fuse kernels, use CUDA graphs or torch.compile, "
                                                "or raise the batch; a faster GPU will not help"
                                              : ""),
         idle.largest_where});
  }
  Intervals negotiation;  // Horovod: from the first rank that has a gradient to the last
  for (const RankTrace& trace : traces)
    for (const TraceEvent& e : trace.events)
      if (e.kind == EventKind::host_op && trace.names.text_of(e.name).starts_with("NEGOTIATE_"))
        negotiation.add(e.start, e.end());
  if (const double seconds = seconds_from_ns(negotiation.length()).value; seconds > 0)
    out.push_back({seconds / steps > 0.1 ? Severity::warning : Severity::info, "negotiation",
                   fmt::format("Horovod negotiates for {:.2f} ms a step ({:.1f} %): ranks have "
                               "their gradients at different moments",
                               ms(seconds) / step_count, 100 * seconds / steps),
                   ""});
  if (loading > 0)
    out.push_back(
        {loading / steps > 0.1 ? Severity::warning : Severity::info, "data loading",
         fmt::format("the host spends {:.1f} % of the step in the data loader{}",
                     100 * loading / steps,
                     loading / steps > 0.1 ? ": more workers, pinned memory, prefetch" : ""),
         ""});
  // Bandwidth of the largest collective of each kind; a single rank's duration includes waiting and
  // bounds it from below.
  struct Largest {
    double bytes = 0, seconds = 0;
    int ranks = 0;
    std::string where;
  };
  std::map<int, Largest> largest;
  for (const RankTrace& trace : traces)
    for (const TraceEvent& e : trace.events) {
      if (e.kind != EventKind::collective || e.collective == kNone || e.duration <= 0) continue;
      const CollectiveCall& call = trace.collectives[e.collective];
      if (!call.collective || call.bytes <= 0 || call.group_size < 2) continue;
      auto& best = largest[static_cast<int>(*call.collective)];
      const double bytes = static_cast<double>(call.bytes),
                   seconds = seconds_from_ns(e.duration).value;
      if (bytes > best.bytes || (bytes == best.bytes && seconds < best.seconds))
        best = {bytes, seconds, call.group_size, rank_text(trace)};
    }
  for (const auto& [kind, best] : largest) {
    const auto collective = static_cast<Collective>(kind);
    const double busbw = best.bytes / best.seconds * bus_factor(collective, best.ranks) * 1e-9;
    std::string against;
    bool is_slow = false;
    if (profile != nullptr)
      for (const CollectiveCurve& curve : profile->curves)
        if (curve.collective == collective && curve.ranks == best.ranks && !curve.points.empty()) {
          auto at = std::lower_bound(
              curve.points.begin(), curve.points.end(), best.bytes,
              [](const auto& p, double b) { return static_cast<double>(p.first.value) < b; });
          if (at == curve.points.end()) --at;
          const double expected = static_cast<double>(at->first.value) / at->second.value *
                                  bus_factor(collective, best.ranks) * 1e-9;
          is_slow = busbw < 0.7 * expected;
          against = fmt::format(", the profile says {:.1f}", expected);
        }
    out.push_back({is_slow ? Severity::warning : Severity::info, "bus bandwidth",
                   fmt::format("{} of {:.1f} MB over {} ranks: at least {:.1f} GB/s{}",
                               text_of(collective), best.bytes * 1e-6, best.ranks, busbw, against),
                   best.where});
  }
  std::stable_sort(out.begin(), out.end(), [](const DiagnosisLine& a, const DiagnosisLine& b) {
    return a.severity > b.severity;
  });
  if (out.size() > 10) out.resize(10);
  return out;
}

std::string text_of(const std::vector<DiagnosisLine>& lines) {
  std::string out;
  for (const DiagnosisLine& l : lines)
    out += fmt::format("  {:<8} {:<22} {}{}\n", text_of(l.severity), l.topic, l.text,
                       l.where.empty() ? "" : " [" + l.where + "]");
  return out;
}
}  // namespace stepcast
