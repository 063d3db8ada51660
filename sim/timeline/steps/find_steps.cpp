#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>

#include "sim/timeline/steps/steps.hpp"

namespace stepcast::trace {
namespace {
struct Mark {
  RankId rank = 0;
  std::int64_t number = 0;
  Nanoseconds begin = 0, end = 0;
};

/// "ProfilerStep#12" -> 12, "step 3" -> 3, "Iteration" -> -1 (numbered by occurrence); nothing for
/// other names.
std::optional<std::int64_t> step_number(std::string_view name, std::string_view& how) {
  constexpr std::string_view words[] = {"profilerstep", "train_step", "training_step",
                                        "iteration",    "step",       "iter"};
  std::string lower(name.substr(0, 40));
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const std::string_view word : words) {
    if (!lower.starts_with(word)) continue;
    std::string_view rest(lower);
    rest.remove_prefix(word.size());
    while (!rest.empty() && (rest.front() == '#' || rest.front() == ' ' || rest.front() == '_' ||
                             rest.front() == ':'))
      rest.remove_prefix(1);
    how = word == "profilerstep" ? "ProfilerStep" : word;
    if (rest.empty()) return -1;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error == std::errc{} && end == rest.data() + rest.size()) return number;
  }
  return std::nullopt;
}

std::vector<Mark> named_marks(const TraceStore& trace, std::string& how) {
  // Each kind of mark by itself; the first of the list that occurs is taken.
  std::map<std::string_view, std::map<OpId, std::int64_t>> kinds;
  for (OpId op = 0; op < trace.ops().size(); ++op) {
    std::string_view kind;
    if (const auto number = step_number(trace.text(trace.ops()[op].name), kind))
      kinds[kind][op] = *number;
  }
  for (const std::string_view kind :
       {"ProfilerStep", "train_step", "training_step", "iteration", "step", "iter"}) {
    const auto found = kinds.find(kind);
    if (found == kinds.end()) continue;
    std::vector<Mark> host, device;
    for (const TrackInfo& track : trace.tracks()) {
      std::int64_t occurrence = 0;
      for (LaneId lane = track.first_lane; lane < track.first_lane + track.lanes; ++lane) {
        const LaneInfo& l = trace.lanes()[lane];
        for (SliceId s = l.first; s < l.first + l.count; ++s) {
          const auto op = found->second.find(trace.op_id(s));
          if (op == found->second.end() || trace.duration(s) == 0) continue;
          const std::int64_t number = op->second >= 0 ? op->second : occurrence++;
          (track.kind == TrackKind::device_stream ? device : host)
              .push_back({track.rank, number, trace.start(s), trace.end(s)});
        }
      }
    }
    // The host's ranges wrap what they launch; a device's own may lack the tail.
    std::vector<Mark>& marks = host.empty() ? device : host;
    if (marks.empty()) continue;
    how = kind;
    return std::move(marks);
  }
  return {};
}

/// A step ends where computing starts again behind an optimizer.
std::vector<Mark> optimizer_marks(const TraceStore& trace) {
  std::vector<Mark> marks;
  std::size_t steps = 0;
  for (RankId rank = 0; rank < trace.ranks().size(); ++rank) {
    const RankInfo& info = trace.ranks()[rank];
    std::vector<Nanoseconds> borders;
    Nanoseconds first = trace.end(), last = trace.begin();
    bool ends_with_optimizer = false;
    for (TrackId t = info.first_track; t < info.first_track + info.tracks; ++t) {
      const TrackInfo& track = trace.tracks()[t];
      if (track.kind != TrackKind::device_stream || track.lanes == 0) continue;
      bool has_optimizer = false, was_optimizer = false;
      std::vector<Nanoseconds> mine;
      const LaneInfo& l = trace.lanes()[track.first_lane];
      for (SliceId s = l.first; s < l.first + l.count; ++s) {
        const SliceCategory category = trace.category(s);
        if (category == SliceCategory::optimizer) {
          was_optimizer = has_optimizer = true;
        } else if (category == SliceCategory::compute && was_optimizer) {
          mine.push_back(trace.start(s));
          was_optimizer = false;
        }
      }
      first = std::min(first, trace.start(l.first)),
      last = std::max(last, trace.end(l.first + l.count - 1));
      if (has_optimizer && mine.size() > borders.size())
        borders = std::move(mine), ends_with_optimizer = was_optimizer;
    }
    if (borders.empty()) continue;
    // The tail behind the last optimizer is a step of its own only where an optimizer ends it.
    Nanoseconds begin = first;
    std::int64_t number = 0;
    for (const Nanoseconds border : borders)
      marks.push_back({rank, number++, begin, border}), begin = border;
    if (ends_with_optimizer) marks.push_back({rank, number++, begin, last});
    if (steps != 0 && steps != static_cast<std::size_t>(number))
      return {};  // ranks disagree: optimizers do not mark steps here
    steps = static_cast<std::size_t>(number);
  }
  return marks;
}

Steps steps_of(const TraceStore& trace, const std::vector<Mark>& marks) {
  Steps steps;
  steps.ranks = trace.ranks().size();
  std::map<std::int64_t, std::vector<const Mark*>> by_number;
  for (const Mark& mark : marks) by_number[mark.number].push_back(&mark);
  for (const auto& [number, list] : by_number) {
    steps.numbers.push_back(number);
    Steps::Range common{list.front()->begin, list.front()->end, true};
    const std::size_t row = steps.by_rank.size();
    steps.by_rank.resize(row + steps.ranks);
    for (const Mark* mark : list) {
      common.begin = std::min(common.begin, mark->begin),
      common.end = std::max(common.end, mark->end);
      Steps::Range& mine = steps.by_rank[row + mark->rank];
      mine = mine.is_present ? Steps::Range{std::min(mine.begin, mark->begin),
                                            std::max(mine.end, mark->end), true}
                             : Steps::Range{mark->begin, mark->end, true};
    }
    steps.common.push_back(common);
  }
  return steps;
}
}  // namespace

Steps find_steps(const TraceStore& trace) {
  std::vector<Mark> marks;
  std::string how;
  for (const StatedStep& step : trace.stated_steps())
    marks.push_back({step.rank, step.number, step.begin, step.end});
  if (!marks.empty()) how = "args.step";
  bool is_marked = true;
  if (marks.empty()) marks = named_marks(trace, how);
  if (marks.empty()) {
    is_marked = false;
    marks = optimizer_marks(trace);
    how = "optimizer ends";
  }
  if (marks.empty()) {
    for (RankId rank = 0; rank < trace.ranks().size(); ++rank)
      marks.push_back({rank, 0, trace.begin(), trace.end()});
    how = "whole trace";
  }
  Steps steps = steps_of(trace, marks);
  steps.how = how, steps.is_marked = is_marked;
  return steps;
}

int Steps::step_at(RankId rank, Nanoseconds time) const {
  // Steps of other ranks may reach into each other: start at the last that has begun anywhere and
  // look back a little.
  const auto after =
      std::upper_bound(common.begin(), common.end(), time,
                       [](Nanoseconds t, const Range& range) { return t < range.begin; });
  constexpr int kLook = 8;
  int at = static_cast<int>(after - common.begin()) - 1;
  for (int look = 0; at >= 0 && look < kLook; --at, ++look) {
    const Range& range = of(static_cast<std::size_t>(at), rank);
    if (range.is_present && time >= range.begin && time < range.end) return at;
  }
  return -1;
}
}  // namespace stepcast::trace
