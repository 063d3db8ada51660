#include <algorithm>
#include <array>
#include <future>

#include "sim/timeline/filter/bound_tree.hpp"

namespace stepcast::trace {
namespace {
constexpr std::uint32_t kBlock = 4096;  // slices tested together: masks and columns stay in cache
constexpr std::size_t kSlicesForTwo = 500'000;  // fewer are found before a thread has started
using Mask = std::array<std::uint8_t, kBlock>;  // 1: passes
}  // namespace

/// One test at a time over a block of a packed column, in loops without branches; a test that needs
/// more than a column looks only at slices that the tests before it left.
class BoundFilter::Bound::Scan {
 public:
  Scan(const Bound& bound, std::size_t limit, std::stop_token stop)
      : bound_(bound), trace_(*bound.trace), limit_(limit), stop_(std::move(stop)) {}

  /// `room`: hits that the answer will have to hold, those of others included. Untouched room costs
  /// addresses alone; growing would move millions of hits again and again.
  Hits find(LaneId from, LaneId to, std::size_t room) {
    Hits hits;
    hits.slices.reserve(std::min(limit_, room));
    for (LaneId lane = from; lane < to; ++lane) {
      if (!bound_.lane_passes(lane)) continue;
      const LaneInfo& l = trace_.lanes()[lane];
      for (std::uint32_t at = 0; at < l.count; at += kBlock) {
        if (stop_.stop_requested()) {
          hits.is_complete = false;
          return hits;
        }
        take(l.first + at, std::min(kBlock, l.count - at), lane, hits);
      }
    }
    return hits;
  }

 private:
  void take(SliceId first, std::uint32_t count, LaneId lane, Hits& hits) const {
    Mask mask;
    std::fill_n(mask.begin(), count, std::uint8_t{1});
    keep_ops(bound_.op_passes, first, count, mask);
    for (const Node* node : bound_.rest) keep(*node, first, count, lane, mask);
    // Hits that come one by one between misses would be guessed wrong by a branch on each: all are
    // written, and the place moves on behind those that pass.
    std::array<SliceId, kBlock> passed;
    std::uint32_t found = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      passed[found] = first + i;
      found += mask[i];
    }
    hits.total += found;
    const std::size_t taken = std::min<std::size_t>(limit_ - hits.slices.size(), found);
    hits.slices.insert(hits.slices.end(), passed.begin(),
                       passed.begin() + static_cast<std::ptrdiff_t>(taken));
  }
  void keep_ops(const std::vector<char>& passes, SliceId first, std::uint32_t count,
                Mask& mask) const {
    if (!trace_.op_high().empty()) {
      for (std::uint32_t i = 0; i < count; ++i)
        mask[i] &= static_cast<std::uint8_t>(passes[trace_.op_id(first + i)]);
      return;
    }
    const std::uint16_t* ops = trace_.op_low().data() + first;
    for (std::uint32_t i = 0; i < count; ++i) mask[i] &= static_cast<std::uint8_t>(passes[ops[i]]);
  }
  void keep_durations(const Node& node, SliceId first, std::uint32_t count, Mask& mask) const {
    constexpr Nanoseconds kMost = TraceStore::kLong - 1;
    if (node.least > node.most || node.most < 0) {
      std::fill_n(mask.begin(), count, std::uint8_t{0});
      return;
    }
    const auto least = static_cast<std::uint32_t>(std::clamp<Nanoseconds>(node.least, 0, kMost)),
               most = static_cast<std::uint32_t>(std::clamp<Nanoseconds>(node.most, 0, kMost));
    const std::uint32_t* durations = trace_.durations().data() + first;
    // Ands of bits, not of conditions: durations on both sides of a bound are no pattern to guess.
    const unsigned can_be_short = node.least <= kMost ? 1 : 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const unsigned is_short_hit = static_cast<unsigned>(durations[i] >= least) &
                                    static_cast<unsigned>(durations[i] <= most) & can_be_short;
      const unsigned is_long = static_cast<unsigned>(durations[i] == TraceStore::kLong);
      mask[i] &= static_cast<std::uint8_t>(is_short_hit | is_long);
    }
    if (trace_.parts().long_durations.empty()) return;
    for (std::uint32_t i = 0; i < count; ++i)
      if (durations[i] == TraceStore::kLong && mask[i] != 0)
        mask[i] = static_cast<std::uint8_t>(bound_.passes(node, first + i, 0, 0));
  }
  /// Clears what does not pass the node.
  void keep(const Node& node, SliceId first, std::uint32_t count, LaneId lane, Mask& mask) const {
    switch (node.kind) {
      case FilterNode::Kind::all_of:
        for (const Node& child : node.children) keep(child, first, count, lane, mask);
        return;
      case FilterNode::Kind::any_of: {
        Mask rest = mask;  // what no child took yet
        Mask child_mask;
        for (const Node& child : node.children) {
          std::copy_n(rest.begin(), count, child_mask.begin());
          keep(child, first, count, lane, child_mask);
          for (std::uint32_t i = 0; i < count; ++i)
            rest[i] &= static_cast<std::uint8_t>(child_mask[i] ^ 1);
        }
        for (std::uint32_t i = 0; i < count; ++i) mask[i] &= static_cast<std::uint8_t>(rest[i] ^ 1);
        return;
      }
      case FilterNode::Kind::none_of: {
        Mask child_mask = mask;
        keep(node.children.front(), first, count, lane, child_mask);
        for (std::uint32_t i = 0; i < count; ++i)
          mask[i] &= static_cast<std::uint8_t>(child_mask[i] ^ 1);
        return;
      }
      case FilterNode::Kind::text:
      case FilterNode::Kind::number:
        break;
    }
    if (node.on == On::op) return keep_ops(node.answers, first, count, mask);
    if (node.is_one_range_of_dur) return keep_durations(node, first, count, mask);
    if (node.on == On::lane) {
      if (node.answers[lane] == 0) std::fill_n(mask.begin(), count, std::uint8_t{0});
      return;
    }
    for (std::uint32_t i = 0; i < count; ++i)
      if (mask[i] != 0)
        mask[i] = static_cast<std::uint8_t>(bound_.passes(node, first + i, 0, lane));
  }

  const Bound& bound_;
  const TraceStore& trace_;
  std::size_t limit_;
  std::stop_token stop_;
};

BoundFilter::Hits BoundFilter::find(std::size_t limit, std::stop_token stop) const {
  const auto& lanes = bound_->trace->lanes();
  const auto all = static_cast<LaneId>(lanes.size());
  const std::size_t slices = bound_->trace->slices();
  if (slices < kSlicesForTwo) return Bound::Scan(*bound_, limit, stop).find(0, all, slices);
  // Two halves of the slices side by side; lanes are in order of their slices.
  const auto half = static_cast<LaneId>(
      std::partition_point(lanes.begin(), lanes.end(),
                           [&](const LaneInfo& l) { return l.first < slices / 2; }) -
      lanes.begin());
  auto second = std::async(std::launch::async, [&] {
    return Bound::Scan(*bound_, limit, stop).find(half, all, slices);
  });
  Hits hits = Bound::Scan(*bound_, limit, stop).find(0, half, slices);
  const Hits more = second.get();
  hits.total += more.total;
  hits.is_complete = hits.is_complete && more.is_complete;
  const auto room = std::min(limit - hits.slices.size(), more.slices.size());
  hits.slices.insert(hits.slices.end(), more.slices.begin(),
                     more.slices.begin() + static_cast<std::ptrdiff_t>(room));
  return hits;
}
}  // namespace stepcast::trace
