#pragma once
#include <cstddef>
#include <vector>

#include "gui/views/time_axis.hpp"

/// Undo and redo of every zoom, scroll and selection, without a window.
namespace stepcast::gui {
/// Marked part of time on a set of rows (by row of the layout's track order); empty when length is
/// 0.
struct Area {
  Nanoseconds start = 0, end = 0;
  std::vector<std::uint32_t> tracks;
  bool is_empty() const { return end <= start; }
  friend bool operator==(const Area&, const Area&) = default;
};
struct ViewState {
  TimeRange time;
  int scroll = 0;              // pixels of the first visible row
  std::int64_t selected = -1;  // slice, or -1
  Area area;
  friend bool operator==(const ViewState&, const ViewState&) = default;
};

class ViewHistory {
 public:
  /// Remembers `state` as the present. Equal states are not repeated; `merges` replaces the present
  /// when the last record also merged (a wheel turned ten times is one step back).
  void record(const ViewState& state, bool merges = false);
  bool can_undo() const { return at_ > 0; }
  bool can_redo() const { return at_ + 1 < states_.size(); }
  const ViewState& undo();  // can_undo()
  const ViewState& redo();  // can_redo()
  void clear();
  /// The next record starts a step of its own (called when a gesture ends).
  void end_gesture() { last_merges_ = false; }
  static constexpr std::size_t kLongest = 1000;  // steps; about 100 kB

 private:
  std::vector<ViewState> states_;
  std::size_t at_ = 0;
  bool last_merges_ = false;
};
}  // namespace stepcast::gui
