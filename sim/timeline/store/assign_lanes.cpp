#include <algorithm>
#include <limits>

#include "sim/timeline/store/builder_state.hpp"

namespace stepcast::trace {
namespace {
/// Ends of the lanes' last slices in a tree of minima: the leftmost lane that is free at a time in
/// log(lanes). A track on which thousands of requests overlap would otherwise cost lanes x slices.
class LaneEnds {
 public:
  std::size_t size() const { return used_; }
  std::uint32_t take(Nanoseconds start, Nanoseconds end) {
    if (used_ == 0 || tree_[1] > start) add();
    std::size_t at = 1;
    while (at < leaves_) at = tree_[2 * at] <= start ? 2 * at : 2 * at + 1;
    const auto lane = static_cast<std::uint32_t>(at - leaves_);
    set(lane, end);
    return lane;
  }

 private:
  static constexpr Nanoseconds kNever =
      std::numeric_limits<Nanoseconds>::max();  // a leaf that is no lane yet
  void set(std::size_t lane, Nanoseconds end) {
    std::size_t at = lane + leaves_;
    tree_[at] = end;
    for (at /= 2; at > 0; at /= 2) tree_[at] = std::min(tree_[2 * at], tree_[2 * at + 1]);
  }
  void add() {
    if (used_ == leaves_ || leaves_ == 0) {
      std::vector<Nanoseconds> ends(tree_.begin() + static_cast<std::ptrdiff_t>(leaves_),
                                    tree_.end());
      leaves_ = std::max<std::size_t>(8, leaves_ * 2);
      tree_.assign(2 * leaves_, kNever);
      for (std::size_t lane = 0; lane < used_; ++lane) set(lane, ends[lane]);
    }
    set(used_++, std::numeric_limits<Nanoseconds>::min());
  }
  std::vector<Nanoseconds> tree_;  // [1] is the root; leaves from [leaves_]
  std::size_t leaves_ = 0, used_ = 0;
};
}  // namespace

std::uint32_t assign_lanes(const std::vector<TrackRow>& rows, std::vector<std::uint32_t>& lanes) {
  LaneEnds ends;
  lanes.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // Slices without length share a lane where they follow each other at one moment.
    lanes[i] = ends.take(rows[i].start, rows[i].start + rows[i].duration);
  }
  return static_cast<std::uint32_t>(ends.size());
}
}  // namespace stepcast::trace
