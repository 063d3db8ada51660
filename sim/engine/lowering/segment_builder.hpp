#pragma once
#include <string>
#include <vector>

#include "sim/engine/job.hpp"

namespace stepcast {
/// Collects ops of one in-order run into a Segment: sums, pieces for accounting, and the host
/// bounds.
///
///   issue   |1|2|3|4|                 kernel j is launched at host_start + issued_j
///   gpu          |  1  |2|3|  4  |    and everything from j on still has to run after that
///
/// For a slowdown f the run ends no earlier than host_start + issued_j + f * scaled_left_j +
/// fixed_left_j, for every j.
class SegmentBuilder {
 public:
  explicit SegmentBuilder(NameTable& names) : names_(names) {}
  /// `scales`: a slow rank stretches it (compute). Collectives of the lockstep group do not, and
  /// name their transfer in the program.
  void add(const std::string& name, Category category, Seconds duration, Seconds host, bool scales,
           std::int32_t transfer = -1);
  bool empty() const { return segment_.pieces.empty(); }
  /// The finished segment; the builder starts anew.
  Segment take();

 private:
  NameTable& names_;
  Segment segment_;
};

/// Drops every bound that no slowdown in [1/8, 64] makes the latest: the upper envelope of lines in
/// f.
std::vector<Segment::Bound> undominated(std::vector<Segment::Bound> bounds);
}  // namespace stepcast
