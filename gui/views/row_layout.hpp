#pragma once
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "sim/timeline/store/trace_store.hpp"

/// Which rows the timeline has and where they stand, without a window.
namespace stepcast::gui {
enum class RowKind : std::uint8_t { node, rank, track, counter, delta };

struct TimelineRow {
  RowKind kind = RowKind::track;
  std::uint8_t side = 0;   // 0 = A, 1 = B of a comparison
  std::uint8_t depth = 0;  // indentation
  bool is_open = false;    // node and rank: children are shown
  std::uint32_t id = 0;  // node index, RankId, TrackId or index into counters(); delta: RankId of A
  std::uint32_t alike =
      1;  // rank: so many ranks with the same streams and counts are folded into this row
  int y = 0, height = 0;
  int bottom() const { return y + height; }
};

/// What of a trace is shown and how.
struct RowChoice {
  std::set<std::uint32_t> closed_nodes;
  std::set<trace::RankId> open_ranks;
  std::set<trace::TrackId> hidden;
  std::vector<trace::TrackId> pinned;
  std::vector<trace::RankId> order;  // empty: the store's, under node headings
  bool folds_alike = false;
  int lane_height = 18;  // pixels
};

struct RowLayout {
  std::vector<TimelineRow> rows;
  int height = 0;
  /// Index of the row at `y` of the layout, or -1.
  int row_at(int y) const;
  /// Rows that touch [top, bottom).
  std::pair<std::size_t, std::size_t> visible(int top, int bottom) const;
  /// The row that shows a track: its own, else its rank's, else its node's; -1 when hidden.
  int row_of_track(const trace::TraceStore& trace, trace::TrackId track, int side = 0) const;
};

struct LayoutSide {
  const trace::TraceStore* trace = nullptr;
  const RowChoice* choice = nullptr;
};
/// Rows of one trace.
RowLayout rows_of(const trace::TraceStore& trace, const RowChoice& choice);
/// Rows of A and B with partners under each other and a delta lane per pair of ranks.
RowLayout interleaved_rows(const LayoutSide& a, const LayoutSide& b,
                           std::span<const std::pair<trace::RankId, trace::RankId>> ranks);
/// Only the pinned tracks, in the order in which they were pinned.
RowLayout pinned_rows(const trace::TraceStore& trace, const RowChoice& choice);

/// Ranks with the same streams and numbers of slices get the same number; for folding.
std::vector<std::uint32_t> alike_groups(const trace::TraceStore& trace);
/// Ranks open at first sight: all of them where they are few enough to fit some screens, else the
/// first.
std::set<trace::RankId> initially_open(const trace::TraceStore& trace);
int row_height(RowKind kind, int lane_height, std::uint32_t lanes);
}  // namespace stepcast::gui
