// Steps of a trace: marked, or inferred from what repeats.
#include <algorithm>
#include <charconv>
#include <map>

#include "sim/core/robust_stats.hpp"
#include "sim/import/common/step_accounting.hpp"

namespace stepcast {
namespace {
constexpr std::string_view kMark = "ProfilerStep#";

bool take_profiler_steps(RankTrace& trace) {
  for (const TraceEvent& e : trace.events) {
    if (e.kind != EventKind::annotation && e.kind != EventKind::host_op) continue;
    const std::string& name = trace.names.text_of(e.name);
    if (!name.starts_with("ProfilerStep")) continue;
    std::int64_t number = static_cast<std::int64_t>(trace.steps.size());
    if (name.starts_with(kMark))
      std::from_chars(name.data() + kMark.size(), name.data() + name.size(), number);
    trace.steps.push_back({number, e.start, e.end()});
  }
  trace.step_source = "ProfilerStep";
  return !trace.steps.empty();
}

/// Ranges of one name on one thread, as candidates for "once per step".
struct Candidate {
  std::string name;
  std::vector<std::pair<Nanoseconds, Nanoseconds>> ranges;
};

double regularity(const Candidate& c) {  // spread of the periods over their median; small = regular
  std::vector<double> periods;
  for (std::size_t i = 1; i < c.ranges.size(); ++i)
    periods.push_back(static_cast<double>(c.ranges[i].first - c.ranges[i - 1].first));
  const double typical = median(periods);
  return typical > 0 ? (quantile(periods, 0.9) - quantile(periods, 0.1)) / typical : 1e9;
}

/// "iteration 12", "train_step#3", "Step: 5" -> the name without its number; others, numbered
/// layers among them, as they are.
std::string without_step_number(const std::string& name) {
  std::size_t end = name.size();
  while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') --end;
  if (end == name.size() || end == 0) return name;
  std::string stem = name.substr(0, end);
  std::string lower;
  for (const char c : stem) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  for (std::string_view word : {"step", "iter", "train", "batch"})
    if (lower.find(word) != std::string::npos) return stem;
  return name;
}

Nanoseconds covered(const Candidate& c) {
  Nanoseconds sum = 0;
  for (const auto& [start, end] : c.ranges) sum += end - start;
  return sum;
}

bool take_repeating(RankTrace& trace) {
  std::map<std::pair<std::string, std::uint32_t>, Candidate> candidates;  // (name, track)
  for (const TraceEvent& e : trace.events) {
    if (e.kind != EventKind::annotation) continue;
    const std::string& name = trace.names.text_of(e.name);
    // Operators (aten::mm) and collectives repeat too, but not once a step.
    if (name.find("::") != std::string::npos || name.find("nccl:") != std::string::npos ||
        name.find("gloo:") != std::string::npos)
      continue;
    const std::string stem = without_step_number(name);
    auto& c = candidates[{stem, e.track}];
    c.name = stem;
    c.ranges.emplace_back(e.start, e.end());
  }
  // An optimizer runs once per step whatever the framework; then loops that users name; then
  // whatever is regular and covers most.
  const auto priority = [](const std::string& name) {
    for (const auto& [word, rank] : {std::pair{"Optimizer.step", 0},
                                     {"optimizer_step", 1},
                                     {"train_step", 1},
                                     {"training_step", 1},
                                     {"train", 1},
                                     {"iteration", 2},
                                     {"Iteration", 2},
                                     {"iter", 2},
                                     {"step", 3},
                                     {"Step", 3},
                                     {"batch", 3}})
      if (name.find(word) != std::string::npos) return rank;
    return 4;
  };
  const Candidate* best = nullptr;
  for (const auto& [key, c] : candidates) {
    if (c.ranges.size() < 2) continue;
    if (best == nullptr) {
      best = &c;
      continue;
    }
    const int mine = priority(c.name), theirs = priority(best->name);
    const bool is_rarer =
        c.ranges.size() < best->ranges.size() && regularity(c) <= regularity(*best) + 0.1;
    const bool is_wider = c.ranges.size() == best->ranges.size() &&
                          covered(c) > covered(*best);  // the range that wraps the others
    if (mine < theirs || (mine == theirs && (is_rarer || is_wider))) best = &c;
  }
  if (best == nullptr ||
      (priority(best->name) == 4 && (best->ranges.size() < 3 || regularity(*best) > 0.5)))
    return false;
  // A step ends where its optimizer ends; a range that wraps the step begins it.
  const bool is_at_end = priority(best->name) <= 1 && best->name.find("train") == std::string::npos;
  for (std::size_t i = 0; i < best->ranges.size(); ++i) {
    if (is_at_end && i == 0)
      continue;  // what came before the first optimizer call is no whole step
    const Nanoseconds start = is_at_end ? best->ranges[i - 1].second : best->ranges[i].first;
    const Nanoseconds end = is_at_end                     ? best->ranges[i].second
                            : i + 1 < best->ranges.size() ? best->ranges[i + 1].first
                                                          : best->ranges[i].second;
    if (end > start)
      trace.steps.push_back({static_cast<std::int64_t>(trace.steps.size()), start, end});
  }
  trace.step_source = "annotation " + best->name;
  return !trace.steps.empty();
}
}  // namespace

void find_steps(RankTrace& trace) {
  trace.steps.clear();
  trace.are_steps_inferred = false;
  if (!take_profiler_steps(trace)) {
    trace.are_steps_inferred = true;
    if (take_repeating(trace)) {
      trace.anomalies.add(
          "steps_inferred", Severity::info,
          "no ProfilerStep marks (call prof.step()); steps were cut at a range that repeats",
          trace.file);
    } else if (!trace.events.empty()) {
      Nanoseconds first = trace.events.front().start, last = first;
      for (const TraceEvent& e : trace.events)
        if (e.kind != EventKind::device_range) last = std::max(last, e.end());
      trace.steps.push_back({0, first, last});
      trace.step_source = "whole trace";
      trace.anomalies.add("steps_unknown", Severity::warning,
                          "nothing marks or repeats a step: the whole trace counts as one (call "
                          "prof.step() each iteration)",
                          trace.file);
    }
  }
  std::sort(trace.steps.begin(), trace.steps.end(),
            [](const StepMark& a, const StepMark& b) { return a.start < b.start; });
  // The same step may be marked on several threads; the first stands.
  trace.steps.erase(std::unique(trace.steps.begin(), trace.steps.end(),
                                [](const StepMark& a, const StepMark& b) {
                                  return b.start < a.end && b.number == a.number;
                                }),
                    trace.steps.end());
}
}  // namespace stepcast
