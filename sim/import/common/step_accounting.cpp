#include "sim/import/common/step_accounting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/import/common/intervals.hpp"

namespace stepcast {
namespace {
/// Index of the step whose window [start, next start) holds the moment.
std::uint32_t step_at(const std::vector<StepMark>& steps, Nanoseconds t, bool is_launch) {
  auto after = std::upper_bound(steps.begin(), steps.end(), t,
                                [](Nanoseconds v, const StepMark& s) { return v < s.start; });
  if (after == steps.begin()) return kNone;
  const auto index = static_cast<std::uint32_t>(after - steps.begin() - 1);
  // A launch behind the last mark is outside; device work itself trails the host.
  if (is_launch && index + 1 == steps.size() && t >= steps[index].end) return kNone;
  return index;
}
bool has_kernel(const RankTrace& trace) {
  return std::any_of(trace.events.begin(), trace.events.end(),
                     [](const TraceEvent& e) { return e.kind == EventKind::kernel; });
}
/// Gloo's collectives run on host threads and are no device work.
bool records_device(const RankTrace& trace) {
  return has_kernel(trace) ||
         std::any_of(trace.events.begin(), trace.events.end(), [&](const TraceEvent& e) {
           return e.is_on_device() && trace.tracks[e.track].is_device;
         });
}
}  // namespace

bool lacks_kernels(const RankTrace& trace) { return records_device(trace) && !has_kernel(trace); }

std::vector<std::uint32_t> steps_of_events(const RankTrace& trace) {
  std::vector<std::uint32_t> result(trace.events.size(), kNone);
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const TraceEvent& e = trace.events[i];
    if (e.kind == EventKind::device_range) continue;
    const bool has_launch = e.launch != kNone;
    const bool is_host = !trace.tracks[e.track].is_device;
    result[i] = step_at(trace.steps, has_launch ? trace.events[e.launch].start : e.start,
                        has_launch || is_host);
  }
  return result;
}

std::vector<StepAccount> accounts_of(const RankTrace& trace) {
  const auto step_of = steps_of_events(trace);
  const std::size_t count = trace.steps.size();
  struct Sets {
    Intervals compute, communication, copies, host, waits;
    Nanoseconds first = 0, last = 0;
    bool has_kernel = false;
  };
  std::vector<Sets> sets(count);
  std::vector<StepAccount> accounts(count);
  const bool has_device_work = records_device(trace);
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (step_of[i] == kNone) continue;
    const TraceEvent& e = trace.events[i];
    Sets& s = sets[step_of[i]];
    StepAccount& a = accounts[step_of[i]];
    switch (e.kind) {
      case EventKind::kernel:
        s.compute.add(e.start, e.end()), ++a.kernels;
        break;
      case EventKind::collective:
        s.communication.add(e.start, e.end()), ++a.collectives;
        break;
      case EventKind::copy:
      case EventKind::memset:
        s.copies.add(e.start, e.end());
        break;
      case EventKind::launch:
        ++a.launches;
        break;
      case EventKind::sync:
        s.waits.add(e.start, e.end());
        break;
      case EventKind::host_op:
        if (!has_device_work) s.host.add(e.start, e.end());
        break;
      default:
        break;
    }
    if (e.kind == EventKind::kernel || e.kind == EventKind::collective) {
      s.first = s.has_kernel ? std::min(s.first, e.start) : e.start;
      s.last = s.has_kernel ? std::max(s.last, e.end()) : e.end();
      s.has_kernel = true;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const StepMark& mark = trace.steps[i];
    StepAccount& a = accounts[i];
    Sets& s = sets[i];
    a.number = mark.number;
    a.start = mark.start;
    a.is_last = i + 1 == count;
    const Nanoseconds period = (a.is_last ? mark.end : trace.steps[i + 1].start) - mark.start;
    a.period = seconds_from_ns(period);
    a.kernel_span = seconds_from_ns(s.last - s.first);
    // A CPU-only run computes in its operators; those that wait inside a collective belong to it.
    const Intervals& compute = has_device_work ? s.compute : s.host;
    a.compute = seconds_from_ns(has_device_work ? compute.length()
                                                : compute.length_outside(s.communication));
    a.communication = seconds_from_ns(s.communication.length());
    a.exposed_communication = seconds_from_ns(
        has_device_work ? s.communication.length_outside(compute) : s.communication.length());
    a.copies = seconds_from_ns(s.copies.length());
    a.host_wait = seconds_from_ns(s.waits.length());
    Intervals busy;
    for (const Intervals* set :
         std::array<const Intervals*, 3>{&compute, &s.communication, &s.copies})
      for (const auto& [start, end] : set->merged()) busy.add(start, end);
    a.device_idle = seconds_from_ns(std::max<std::int64_t>(0, period - busy.length()));
  }
  return accounts;
}

std::string text_of(const std::vector<StepAccount>& accounts) {
  std::string out = fmt::format(
      "{:>8} {:>10} {:>10} {:>10} {:>10} {:>10} {:>8} {:>10} {:>8} {:>6}\n", "step", "period ms",
      "kernels ms", "compute", "communic.", "exposed", "copies", "GPU idle", "kernels", "coll.");
  for (const StepAccount& a : accounts)
    out += fmt::format(
        "{:>8} {:>10} {:>10.2f} {:>10.2f} {:>10.2f} {:>10.2f} {:>8.2f} {:>10.2f} {:>8} {:>6}\n",
        a.number,
        a.is_last ? fmt::format("({:.2f})", a.period.value * 1e3)
                  : fmt::format("{:.2f}", a.period.value * 1e3),
        a.kernel_span.value * 1e3, a.compute.value * 1e3, a.communication.value * 1e3,
        a.exposed_communication.value * 1e3, a.copies.value * 1e3, a.device_idle.value * 1e3,
        a.kernels, a.collectives);
  return out;
}
}  // namespace stepcast
