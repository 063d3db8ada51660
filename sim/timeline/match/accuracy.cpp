#include <algorithm>
#include <cmath>
#include <map>
#include <queue>

#include "sim/timeline/match/match.hpp"

namespace stepcast::trace {
namespace {
constexpr std::size_t kWorst = 100, kPoints = 5000;
Accuracy::Row finished(Accuracy::Row row) {
  row.error = row.seconds_a > 0 ? row.seconds_b / row.seconds_a - 1 : 0;
  return row;
}
}  // namespace

Accuracy accuracy(const TraceStore& a, const Steps& steps_a, const TraceStore& b,
                  const Steps& steps_b, const Match& match) {
  Accuracy out;
  double total_a = 0, total_b = 0;
  for (const auto& [sa, sb] : match.steps) {
    const Steps::Range &x = steps_a.common[static_cast<std::size_t>(sa)],
                       &y = steps_b.common[static_cast<std::size_t>(sb)];
    Accuracy::Row row;
    row.label = "step " + std::to_string(steps_a.numbers[static_cast<std::size_t>(sa)]),
    row.pairs = 1;
    row.seconds_a = static_cast<double>(x.end - x.begin) * 1e-9,
    row.seconds_b = static_cast<double>(y.end - y.begin) * 1e-9;
    total_a += row.seconds_a, total_b += row.seconds_b;
    out.by_step.push_back(finished(row));
  }
  out.step_error = total_a > 0 ? total_b / total_a - 1 : 0;

  std::vector<Accuracy::Row> by_text(a.texts()), by_rank(a.ranks().size());
  using Entry = std::pair<double, std::pair<SliceId, SliceId>>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> worst;
  double absolute = 0, weight = 0;
  const std::int64_t stride =
      std::max<std::int64_t>(1, match.pairs / static_cast<std::int64_t>(kPoints) + 1);
  std::int64_t seen = 0;
  for (LaneId lane = 0; lane < a.lanes().size(); ++lane) {
    const LaneInfo& l = a.lanes()[lane];
    const RankId rank = a.tracks()[l.track].rank;
    for (SliceId s = l.first; s < l.first + l.count; ++s) {
      const SliceId partner = match.partner_of_a[s];
      if (partner == kNoId) continue;
      const double mine = static_cast<double>(a.duration(s)) * 1e-9,
                   theirs = static_cast<double>(b.duration(partner)) * 1e-9;
      for (Accuracy::Row* row : {&by_text[a.op(s).name], &by_rank[rank]})
        ++row->pairs, row->seconds_a += mine, row->seconds_b += theirs;
      const double off = std::abs(theirs - mine);
      absolute += off, weight += mine;
      if (worst.size() < kWorst || off > worst.top().first) {
        if (worst.size() == kWorst) worst.pop();
        worst.emplace(off, std::pair(s, partner));
      }
      if (seen++ % stride == 0)
        out.scatter.push_back({static_cast<float>(mine), static_cast<float>(theirs)});
    }
  }
  out.mean_absolute_error = weight > 0 ? absolute / weight : 0;
  for (std::uint32_t t = 0; t < by_text.size(); ++t)
    if (by_text[t].pairs > 0)
      by_text[t].label = a.text(t), out.by_name.push_back(finished(by_text[t]));
  for (RankId r = 0; r < by_rank.size(); ++r)
    if (by_rank[r].pairs > 0)
      by_rank[r].label = a.ranks()[r].label, out.by_rank.push_back(finished(by_rank[r]));
  std::stable_sort(out.by_name.begin(), out.by_name.end(), [](const auto& x, const auto& y) {
    return std::abs(x.seconds_b - x.seconds_a) > std::abs(y.seconds_b - y.seconds_a);
  });
  for (; !worst.empty(); worst.pop()) {
    const auto [sa, sb] = worst.top().second;
    out.worst.push_back({sa, sb, static_cast<double>(b.duration(sb) - a.duration(sa)) * 1e-9});
  }
  std::reverse(out.worst.begin(), out.worst.end());
  return out;
}
}  // namespace stepcast::trace
