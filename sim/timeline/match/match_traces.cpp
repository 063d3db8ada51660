#include <algorithm>
#include <map>
#include <numeric>

#include "sim/timeline/match/match.hpp"

namespace stepcast::trace {
namespace {
/// "GPU 3 stream 7" and "GPU 0 stream 7" are one kind of stream: the device number is the rank's.
std::string stream_kind(const TrackInfo& track) {
  std::string_view label = track.label;
  if (label.starts_with("GPU ")) {
    const auto space = label.find(' ', 4);
    if (space != std::string_view::npos) label.remove_prefix(space + 1);
  }
  return (track.kind == TrackKind::device_stream ? "d:"
          : track.kind == TrackKind::host_thread ? "h:"
                                                 : "a:") +
         std::string(label);
}

void pair_ranks(const TraceStore& a, const TraceStore& b, const MatchOptions& options,
                Match& match) {
  std::map<std::int32_t, RankId> number_b;
  std::map<std::string, RankId> label_b;
  for (RankId r = 0; r < b.ranks().size(); ++r) {
    if (b.ranks()[r].rank >= 0) number_b.emplace(b.ranks()[r].rank, r);
    label_b.emplace(b.ranks()[r].label, r);
  }
  std::vector<char> used_a(a.ranks().size(), 0), used_b(b.ranks().size(), 0);
  const auto take = [&](RankId ra, RankId rb) {
    if (used_a[ra] != 0 || used_b[rb] != 0) return;
    used_a[ra] = used_b[rb] = 1;
    match.ranks.emplace_back(ra, rb);
  };
  std::map<std::int32_t, std::int32_t> mapped(options.rank_map.begin(), options.rank_map.end());
  for (RankId ra = 0; ra < a.ranks().size(); ++ra) {
    const RankInfo& rank = a.ranks()[ra];
    if (!mapped.empty()) {
      const auto to = mapped.find(rank.rank);
      if (to == mapped.end()) continue;
      if (const auto rb = number_b.find(to->second); rb != number_b.end()) take(ra, rb->second);
    } else if (rank.rank >= 0) {
      if (const auto rb = number_b.find(rank.rank); rb != number_b.end()) take(ra, rb->second);
    } else if (const auto rb = label_b.find(rank.label); rb != label_b.end()) {
      take(ra, rb->second);
    }
  }
  // Nothing in common: by order, so that one rank of one job meets the only rank of another.
  if (match.ranks.empty() && mapped.empty())
    for (RankId r = 0; r < std::min(a.ranks().size(), b.ranks().size()); ++r) take(r, r);
  for (RankId r = 0; r < used_a.size(); ++r)
    if (used_a[r] == 0) match.ranks_only_a.push_back(r);
  for (RankId r = 0; r < used_b.size(); ++r)
    if (used_b[r] == 0) match.ranks_only_b.push_back(r);
}

/// Common steps: by number where some agree, else by order (a profiler counts from the job's start,
/// a simulation from 0).
std::vector<std::pair<int, int>> pair_steps(const Steps& a, const Steps& b) {
  std::vector<std::pair<int, int>> pairs;
  for (std::size_t i = 0; i < a.numbers.size(); ++i) {
    const auto at = std::lower_bound(b.numbers.begin(), b.numbers.end(), a.numbers[i]);
    if (at != b.numbers.end() && *at == a.numbers[i])
      pairs.emplace_back(static_cast<int>(i), static_cast<int>(at - b.numbers.begin()));
  }
  if (pairs.empty())
    for (std::size_t i = 0; i < std::min(a.numbers.size(), b.numbers.size()); ++i)
      pairs.emplace_back(static_cast<int>(i), static_cast<int>(i));
  return pairs;
}

/// Slices of one rank and stream kind in buckets (name, step), each in order of start.
class Buckets {
 public:
  /// `kind_of(name)`: dense kind of a text id. `steps[k]`: which common step the k-th of this trace
  /// is, -1 = none.
  template <class KindOf>
  void fill(const TraceStore& trace, const Steps& steps, const std::vector<int>& common,
            RankId rank, const std::vector<LaneId>& lanes, std::size_t common_steps, bool by_step,
            KindOf&& kind_of) {
    slices_.clear(), bucket_.clear();
    width_ = common_steps + 1;  // the first column: outside of common steps
    for (const LaneId lane : lanes) {
      const LaneInfo& l = trace.lanes()[lane];
      std::size_t step = 0;
      for (SliceId s = l.first; s < l.first + l.count; ++s) {
        std::size_t column = 0;
        if (by_step) {
          const Nanoseconds start = trace.start(s);
          while (step < steps.numbers.size() &&
                 (!steps.of(step, rank).is_present || steps.of(step, rank).end <= start))
            ++step;
          if (step < steps.numbers.size() && start >= steps.of(step, rank).begin &&
              common[step] >= 0)
            column = static_cast<std::size_t>(common[step]) + 1;
        }
        const std::uint32_t kind = kind_of(trace.op(s).name);
        if (kind == kNoId) continue;
        slices_.push_back(s);
        bucket_.push_back(static_cast<std::uint32_t>(kind * width_ + column));
      }
    }
  }
  void sort(const TraceStore& trace, std::size_t kinds) {
    first_.assign(kinds * width_ + 1, 0);
    for (const std::uint32_t bucket : bucket_) ++first_[bucket + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    next_.assign(first_.begin(), first_.end() - 1);
    ordered_.resize(slices_.size());
    for (std::size_t i = 0; i < slices_.size(); ++i) ordered_[next_[bucket_[i]]++] = slices_[i];
    const auto is_earlier = [&](SliceId x, SliceId y) { return trace.start(x) < trace.start(y); };
    for (std::size_t b = 0; b + 1 < first_.size(); ++b) {  // several lanes
      const auto begin = ordered_.begin() + static_cast<std::ptrdiff_t>(first_[b]),
                 end = ordered_.begin() + static_cast<std::ptrdiff_t>(first_[b + 1]);
      if (!std::is_sorted(begin, end, is_earlier)) std::stable_sort(begin, end, is_earlier);
    }
  }
  std::size_t buckets() const { return first_.size() - 1; }
  std::size_t begin(std::size_t bucket) const { return first_[bucket]; }
  std::size_t end(std::size_t bucket) const { return first_[bucket + 1]; }
  SliceId at(std::size_t i) const { return ordered_[i]; }

 private:
  std::vector<SliceId> slices_, ordered_;
  std::vector<std::uint32_t> bucket_, first_, next_;
  std::size_t width_ = 1;
};

std::map<std::string, std::vector<LaneId>> lanes_by_stream(const TraceStore& trace, RankId rank,
                                                           const MatchOptions& options,
                                                           bool ignore_stream) {
  std::map<std::string, std::vector<LaneId>> streams;
  const RankInfo& info = trace.ranks()[rank];
  for (TrackId t = info.first_track; t < info.first_track + info.tracks; ++t) {
    const TrackInfo& track = trace.tracks()[t];
    if (options.device_only && track.kind != TrackKind::device_stream) continue;
    auto& lanes =
        streams[ignore_stream ? (track.kind == TrackKind::device_stream ? "device" : "host")
                              : stream_kind(track)];
    for (LaneId lane = track.first_lane; lane < track.first_lane + track.lanes; ++lane)
      lanes.push_back(lane);
  }
  return streams;
}
bool share_a_stream(const TraceStore& a, const TraceStore& b) {
  std::vector<std::string> kinds;
  for (const TrackInfo& track : a.tracks()) kinds.push_back(stream_kind(track));
  std::sort(kinds.begin(), kinds.end());
  return std::any_of(b.tracks().begin(), b.tracks().end(), [&](const TrackInfo& track) {
    return std::binary_search(kinds.begin(), kinds.end(), stream_kind(track));
  });
}
std::vector<Match::Unmatched> unmatched(const TraceStore& trace,
                                        const std::vector<SliceId>& partners) {
  std::vector<Match::Unmatched> table(trace.ops().size());
  for (SliceId s = 0; s < partners.size(); ++s) {
    if (partners[s] != kNoId) continue;
    Match::Unmatched& row = table[trace.op_id(s)];
    row.op = trace.op_id(s);
    ++row.count;
    row.seconds += static_cast<double>(trace.duration(s)) * 1e-9;
  }
  std::erase_if(table, [](const auto& row) { return row.count == 0; });
  std::stable_sort(table.begin(), table.end(),
                   [](const auto& x, const auto& y) { return x.seconds > y.seconds; });
  return table;
}
}  // namespace

Match match_traces(const TraceStore& a, const Steps& steps_a, const TraceStore& b,
                   const Steps& steps_b, const MatchOptions& options, std::stop_token stop) {
  Match match;
  match.partner_of_a.assign(a.slices(), kNoId), match.partner_of_b.assign(b.slices(), kNoId);
  pair_ranks(a, b, options, match);
  match.steps = pair_steps(steps_a, steps_b);
  std::vector<int> common_a(steps_a.numbers.size(), -1), common_b(steps_b.numbers.size(), -1);
  for (std::size_t i = 0; i < match.steps.size(); ++i) {
    common_a[static_cast<std::size_t>(match.steps[i].first)] = static_cast<int>(i);
    common_b[static_cast<std::size_t>(match.steps[i].second)] = static_cast<int>(i);
  }
  // Names of B as A's text ids.
  std::map<std::string_view, std::uint32_t> texts_a;
  for (std::uint32_t t = 0; t < a.texts(); ++t) texts_a.emplace(a.text(t), t);
  std::vector<std::uint32_t> text_of_b(b.texts(), kNoId);
  for (std::uint32_t t = 0; t < b.texts(); ++t)
    if (const auto found = texts_a.find(b.text(t)); found != texts_a.end())
      text_of_b[t] = found->second;

  const bool ignore_stream = options.ignore_stream || !share_a_stream(a, b);
  std::vector<std::uint32_t> kind_of_name(a.texts(), kNoId);
  std::vector<std::uint32_t> used_names;
  Buckets in_a, in_b;
  for (std::size_t r = 0; r < match.ranks.size(); ++r) {
    if (stop.stop_requested()) {
      match.is_complete = false;
      break;
    }
    if (options.on_progress && r % 64 == 0)
      options.on_progress(static_cast<double>(r) / static_cast<double>(match.ranks.size()));
    const auto [ra, rb] = match.ranks[r];
    const auto streams_a = lanes_by_stream(a, ra, options, ignore_stream),
               streams_b = lanes_by_stream(b, rb, options, ignore_stream);
    for (const auto& [stream, lanes] : streams_a) {
      const auto other = streams_b.find(stream);
      if (other == streams_b.end()) continue;
      for (const std::uint32_t name : used_names) kind_of_name[name] = kNoId;
      used_names.clear();
      in_a.fill(a, steps_a, common_a, ra, lanes, match.steps.size(), options.by_step,
                [&](std::uint32_t name) {
                  if (kind_of_name[name] == kNoId)
                    kind_of_name[name] = static_cast<std::uint32_t>(used_names.size()),
                    used_names.push_back(name);
                  return kind_of_name[name];
                });
      in_b.fill(b, steps_b, common_b, rb, other->second, match.steps.size(), options.by_step,
                [&](std::uint32_t name) {
                  return text_of_b[name] == kNoId ? kNoId : kind_of_name[text_of_b[name]];
                });
      in_a.sort(a, used_names.size()), in_b.sort(b, used_names.size());
      for (std::size_t bucket = 0; bucket < in_a.buckets(); ++bucket) {
        const std::size_t pairs =
            std::min(in_a.end(bucket) - in_a.begin(bucket), in_b.end(bucket) - in_b.begin(bucket));
        for (std::size_t i = 0; i < pairs; ++i) {
          const SliceId sa = in_a.at(in_a.begin(bucket) + i), sb = in_b.at(in_b.begin(bucket) + i);
          match.partner_of_a[sa] = sb, match.partner_of_b[sb] = sa;
        }
        match.pairs += static_cast<std::int64_t>(pairs);
      }
    }
  }
  match.only_a = unmatched(a, match.partner_of_a), match.only_b = unmatched(b, match.partner_of_b);
  if (options.on_progress) options.on_progress(1);
  return match;
}
}  // namespace stepcast::trace
