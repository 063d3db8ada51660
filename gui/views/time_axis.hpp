#pragma once
#include <vector>

#include <QString>

#include "sim/core/units.hpp"

/// Time to pixel and back, without a window.
namespace stepcast::gui {
struct TimeRange {
  Nanoseconds start = 0, end = 1;  // half-open, never empty
  Nanoseconds length() const { return end - start; }
  bool contains(Nanoseconds t) const { return t >= start && t < end; }
  bool overlaps(Nanoseconds from, Nanoseconds to) const { return from < end && to > start; }
  friend bool operator==(const TimeRange&, const TimeRange&) = default;
};

/// What part of time a width of pixels shows.
struct TimeAxis {
  TimeRange range;
  double width = 1;  // pixels

  double ns_per_px() const { return static_cast<double>(range.length()) / width; }
  double x_of(Nanoseconds t) const { return static_cast<double>(t - range.start) / ns_per_px(); }
  Nanoseconds t_of(double x) const;
};

/// A view may go this far past each end of the trace, as a share of the trace: room for the first
/// and last slice.
inline constexpr double kOverscroll = 0.05;
/// The shortest view: 100 ns over the window; below, integers of a nanosecond would be steps on
/// screen.
inline constexpr Nanoseconds kShortestView = 100;

/// `view` zoomed by `factor` (below 1 = closer) with `anchor` staying where it is; within the
/// trace's bounds.
TimeRange zoomed(const TimeRange& view, double factor, Nanoseconds anchor, const TimeRange& trace);
TimeRange panned(const TimeRange& view, Nanoseconds by, const TimeRange& trace);
/// `target` with a margin of 1/20 on each side.
TimeRange fitted(const TimeRange& target, const TimeRange& trace);
/// Moved and, where too long, shortened into trace plus overscroll.
TimeRange clamped(TimeRange view, const TimeRange& trace);

struct Tick {
  Nanoseconds t = 0;
  QString label;  // empty: a minor tick
};
/// Ticks at 1, 2 or 5 times a power of ten, labels at least `min_label_px` apart, counted from
/// `origin`.
std::vector<Tick> ruler_ticks(const TimeAxis& axis, Nanoseconds origin, double min_label_px);
}  // namespace stepcast::gui
