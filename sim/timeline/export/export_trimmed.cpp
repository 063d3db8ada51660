#include <algorithm>

#include "sim/timeline/chrome_trace.hpp"
#include "sim/timeline/export/export.hpp"
#include "sim/timeline/json_file.hpp"
#include "sim/timeline/stats/area_scan.hpp"

namespace stepcast::trace {
namespace {
const char* kind_text(TrackKind kind) {
  switch (kind) {
    case TrackKind::device_stream:
      return "device_stream";
    case TrackKind::host_thread:
      return "host_thread";
    case TrackKind::async:
      return "async";
    case TrackKind::counter:
      return "counter";
  }
  return "device_stream";
}

class Trimmed {
 public:
  Trimmed(const TraceStore& trace, const Area& area, const std::string& path,
          const BoundFilter* filter)
      : trace_(trace),
        area_(area),
        filter_(filter),
        out_(path),
        is_inside_(trace.tracks().size(), area.lanes.empty() ? 1 : 0) {
    for (const LaneId lane : area.lanes) is_inside_[trace.lanes()[lane].track] = 1;
    out_.add(
        "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"origin\":{},\"writer\":\"stepcast\"}},"
        "\"traceEvents\":[\n",
        json_quoted(trace.origin()));
  }
  std::int64_t write(const std::stop_token& stop) {
    names();
    std::int64_t count = 0;
    std::vector<char> has_left(trace_.slices(), 0);
    const bool is_whole =
        scan_lanes(trace_, area_, filter_, stop, [&](LaneId lane, SliceId first, SliceId last) {
          const TrackId track = trace_.lanes()[lane].track;
          for (SliceId s = first; s < last; ++s) {
            if (filter_ != nullptr && !filter_->matches_on_passing_lane(s, lane)) continue;
            const Op& op = trace_.op(s);
            out_.add(
                "{}{{\"ph\":\"X\",\"name\":{},\"cat\":{},\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{}"
                "{}}}",
                next(), json_quoted(trace_.text(op.name)), json_quoted(trace_.text(op.category)),
                pid_of(track), track + 1, us_text(trace_.start(s)), us_text(trace_.duration(s)),
                args_of(s));
            has_left[s] = 1;
            ++count;
          }
        });
    if (!is_whole) return 0;  // no file: the destructor removes what was written
    instants(), counters(), arrows(has_left);
    out_.add("\n]}}\n");
    out_.finish();
    return count;
  }

 private:
  const char* next() {
    const char* s = separator_;
    separator_ = ",\n";
    return s;
  }
  /// Numbered ranks share their node's process, as in our own traces; others are a process of their
  /// own.
  std::uint32_t pid_of(TrackId track) const {
    const RankId rank = trace_.tracks()[track].rank;
    return trace_.ranks()[rank].rank >= 0
               ? trace_.ranks()[rank].node
               : static_cast<std::uint32_t>(trace_.nodes().size()) + rank;
  }
  /// What a collective moves stays with it; other arguments stand in the source file only.
  std::string args_of(SliceId s) const {
    const auto& all = trace_.collectives();
    const auto at =
        std::lower_bound(all.begin(), all.end(), s,
                         [](const CollectiveSlice& c, SliceId id) { return c.slice < id; });
    if (at == all.end() || at->slice != s) return {};
    const std::string args =
        payload_args({std::string(trace_.text(at->kind)), std::string(trace_.text(at->group)),
                      static_cast<int>(at->group_size), at->bytes});
    return ",\"args\":{" + args.substr(1) + "}";
  }
  void metadata(const char* name, std::uint32_t pid, std::uint32_t tid, const std::string& args) {
    out_.add("{}{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"args\":{{{}}}}}", next(),
             name, pid, tid, args);
  }
  void names() {
    std::vector<char> is_named(trace_.nodes().size() + trace_.ranks().size(), 0);
    for (TrackId t = 0; t < trace_.tracks().size(); ++t) {
      if (is_inside_[t] == 0) continue;
      const TrackInfo& track = trace_.tracks()[t];
      const RankInfo& rank = trace_.ranks()[track.rank];
      const std::uint32_t pid = pid_of(t);
      if (is_named[pid] == 0) {
        is_named[pid] = 1;
        metadata("process_name", pid, 0,
                 "\"name\":" +
                     json_quoted(rank.rank >= 0 ? trace_.nodes()[rank.node].label : rank.label));
        metadata("process_sort_index", pid, 0, "\"sort_index\":" + std::to_string(pid));
      }
      if (track.kind == TrackKind::counter) continue;
      metadata("thread_name", pid, t + 1,
               "\"name\":" + json_quoted(rank.rank >= 0 ? "rank " + std::to_string(rank.rank) +
                                                              " " + track.label
                                                        : track.label));
      metadata("thread_sort_index", pid, t + 1, "\"sort_index\":" + std::to_string(t));
      metadata("stepcast_track", pid, t + 1,
               std::string("\"kind\":\"") + kind_text(track.kind) + "\"");
    }
  }
  bool is_in_window(Nanoseconds time) const { return time >= area_.begin && time < area_.end; }
  void instants() {
    for (const Instant& instant : trace_.instants()) {
      if (is_inside_[instant.track] == 0 || !is_in_window(instant.time)) continue;
      const Op& op = trace_.ops()[instant.op];
      out_.add(
          "{}{{\"ph\":\"i\",\"s\":\"t\",\"name\":{},\"cat\":{},\"pid\":{},\"tid\":{},\"ts\":{}}}",
          next(), json_quoted(trace_.text(op.name)), json_quoted(trace_.text(op.category)),
          pid_of(instant.track), instant.track + 1, us_text(instant.time));
    }
  }
  void counters() {
    for (const CounterSeries& series : trace_.counters()) {
      if (!area_.lanes.empty() && !is_rank_inside(series.track)) continue;
      const auto first = std::upper_bound(series.times.begin(), series.times.end(), area_.begin) -
                         series.times.begin();
      for (auto i = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, first - 1));
           i < series.times.size() && series.times[i] < area_.end; ++i)
        out_.add("{}{{\"ph\":\"C\",\"name\":{},\"pid\":{},\"ts\":{},\"args\":{{{}:{}}}}}", next(),
                 json_quoted(trace_.tracks()[series.track].label), pid_of(series.track),
                 us_text(std::max(series.times[i], area_.begin)), json_quoted(series.name),
                 series.values[i]);
    }
  }
  bool is_rank_inside(TrackId track) const {
    const RankInfo& rank = trace_.ranks()[trace_.tracks()[track].rank];
    for (TrackId t = rank.first_track; t < rank.first_track + rank.tracks; ++t)
      if (is_inside_[t] != 0) return true;
    return false;
  }
  void arrows(const std::vector<char>& has_left) {
    std::size_t id = 0;
    for (const FlowArrow& flow : trace_.flows()) {
      if (flow.from == kNoId || flow.to == kNoId || has_left[flow.from] == 0 ||
          has_left[flow.to] == 0)
        continue;
      ++id;
      const Op& op = trace_.ops()[flow.op];
      const std::string name = json_quoted(trace_.text(op.name)),
                        category = json_quoted(trace_.text(op.category));
      out_.add(
          "{}{{\"ph\":\"s\",\"id\":{},\"name\":{},\"cat\":{},\"pid\":{},\"tid\":{},\"ts\":{}}}",
          next(), id, name, category, pid_of(flow.from_track), flow.from_track + 1,
          us_text(flow.from_time));
      out_.add(
          "{}{{\"ph\":\"f\",\"bp\":\"e\",\"id\":{},\"name\":{},\"cat\":{},\"pid\":{},\"tid\":{},"
          "\"ts\":{}}}",
          next(), id, name, category, pid_of(flow.to_track), flow.to_track + 1,
          us_text(flow.to_time));
    }
  }

  const TraceStore& trace_;
  const Area& area_;
  const BoundFilter* filter_;
  TraceFile out_;
  std::vector<char> is_inside_;
  const char* separator_ = "";
};
}  // namespace

std::int64_t export_trimmed(const TraceStore& trace, const Area& area, const std::string& path,
                            const BoundFilter* filter, std::stop_token stop) {
  return Trimmed(trace, area, path, filter).write(stop);
}
}  // namespace stepcast::trace
