#pragma once
#include <array>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "gui/document/trace_facts.hpp"
#include "gui/document/workspace.hpp"
#include "gui/views/row_layout.hpp"
#include "gui/views/time_axis.hpp"
#include "sim/timeline/filter/filter.hpp"
#include "sim/timeline/lod/counter_mip.hpp"
#include "sim/timeline/match/match.hpp"

namespace stepcast::gui {
enum class ColourMode { category, name, slowness };

/// A linear stretch of the map from a trace's own time to pixels. A has one, B one per aligned
/// step.
struct Strip {
  Nanoseconds begin = 0, end = 0;  // of the trace
  double x0 = 0;                   // logical pixels of `begin`
  double px_per_ns = 1;
  double x(Nanoseconds t) const { return x0 + static_cast<double>(t - begin) * px_per_ns; }
};

/// One trace inside a timeline.
struct SceneSide {
  TraceFacts facts;
  RowChoice choice;
  std::shared_ptr<const trace::TimeMap> map;         // of B: how its times are drawn on A's axis
  std::shared_ptr<const trace::BoundFilter> filter;  // what matches stays bright
  std::shared_ptr<const std::vector<trace::SliceId>>
      partner;  // slice -> slice of the other side, or kNoId
  std::vector<std::shared_ptr<const trace::CounterMip>> counters;
  std::vector<double> typical_ns;  // by op: median duration, for ColourMode::slowness
  std::shared_ptr<const std::unordered_set<trace::SliceId>> critical;

  Nanoseconds to_view(Nanoseconds t) const { return map ? map->b_to_a(t) : t; }
  Nanoseconds to_trace(Nanoseconds t) const { return map ? map->a_to_b(t) : t; }
  /// The strips that cover a view of `axis`.
  std::vector<Strip> strips(const TimeAxis& axis) const;
};

/// Everything a timeline shows.
struct TimelineScene {
  std::vector<SceneSide> sides;                                // one, or A and B
  std::vector<std::pair<trace::RankId, trace::RankId>> pairs;  // ranks of A and B under each other
  std::shared_ptr<const trace::DeltaMatrix> deltas;  // steps of `delta_steps` x ranks of A
  std::vector<std::pair<int, int>> delta_steps;      // step indices of A and B
  ColourMode colours = ColourMode::category;
  bool shows_critical = false, shows_flows = true;
  bool is_side_b = false;  // a single trace drawn as B: orange edge
  bool is_empty() const { return sides.empty() || sides[0].facts.trace == nullptr; }
};
}  // namespace stepcast::gui
