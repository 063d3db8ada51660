#pragma once
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "sim/timeline/filter/filter_tree.hpp"

namespace stepcast::trace {
/// The tree with every test on ops and lanes answered in advance. Only sim/timeline/filter uses it.
struct BoundFilter::Bound {
  enum class On : std::uint8_t { op, lane, slice };
  struct Node {
    FilterNode::Kind kind{};
    On on = On::slice;          // of a test; of a group: what all of its tests stand on
    std::vector<char> answers;  // tests on op or lane
    const FilterNode* source = nullptr;
    std::vector<Node> children;
    bool is_one_range_of_dur = false;  // then these are its durations in nanoseconds
    Nanoseconds least = std::numeric_limits<Nanoseconds>::min(),
                most = std::numeric_limits<Nanoseconds>::max();
  };
  Filter filter;
  TracePtr trace;
  const Steps* steps = nullptr;
  Node root;
  /// The root as a conjunction, for scans: ops that pass, lanes that pass, and what is left, the
  /// cheap ones first.
  std::vector<char> op_passes;
  std::vector<const Node*> lane_tests, rest;
  std::unordered_map<SliceId, std::int64_t> bytes_of;  // filled where a test needs it

  /// Binds the filter and plans the scan.
  void bind_all();
  bool passes(const Node& node, SliceId s, OpId op, LaneId lane) const;
  bool lane_passes(LaneId lane) const;
  bool slice_passes(SliceId s, LaneId lane) const;
  /// The number a slice has in a field of numbers; NaN where it has none.
  double number_of(Field field, SliceId s, LaneId lane) const;
  /// The slices of a run of lanes that pass, tested in blocks; see find_hits.cpp.
  class Scan;

 private:
  Node bind(const FilterNode& source);
  void answer_ops(Node& node) const;
  void answer_lanes(Node& node) const;
  void plan();
};
}  // namespace stepcast::trace
