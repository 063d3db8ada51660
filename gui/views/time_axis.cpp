#include "gui/views/time_axis.hpp"

#include <algorithm>
#include <cmath>

#include "gui/look/text.hpp"

namespace stepcast::gui {
namespace {
Nanoseconds rounded(double ns) { return static_cast<Nanoseconds>(std::llround(ns)); }
Nanoseconds overscroll(const TimeRange& trace) {
  return std::max<Nanoseconds>(1, rounded(static_cast<double>(trace.length()) * kOverscroll));
}

/// 1, 2 or 5 times a power of ten, at least `size`.
Nanoseconds nice_step(double size) {
  double power = 1;
  while (power * 10 <= size) power *= 10;
  for (const double factor : {1.0, 2.0, 5.0, 10.0})
    if (power * factor >= size) return std::max<Nanoseconds>(1, rounded(power * factor));
  return rounded(power * 10);
}

/// Labels of one ruler share unit and decimals, so that neighbours compare at a glance.
QString tick_label(Nanoseconds t, Nanoseconds step) {
  struct Unit {
    double ns;
    const char* text;
  };
  const double reach = std::max(std::abs(static_cast<double>(t)), static_cast<double>(step));
  for (const Unit& unit : {Unit{1e9, "s"}, Unit{1e6, "ms"}, Unit{1e3, "us"}, Unit{1, "ns"}}) {
    if (reach < unit.ns && unit.ns > 1) continue;
    int decimals = 0;
    for (double s = static_cast<double>(step) / unit.ns; s < 0.9999 && decimals < 9; s *= 10)
      ++decimals;
    QString text =
        QString::number(static_cast<double>(t) / unit.ns, 'f', decimals) + ' ' + unit.text;
    return text.replace("us", QString(QChar(0x00B5)) + "s");
  }
  return {};
}
}  // namespace

Nanoseconds TimeAxis::t_of(double x) const { return range.start + rounded(x * ns_per_px()); }

TimeRange clamped(TimeRange view, const TimeRange& trace) {
  const Nanoseconds slack = overscroll(trace);
  const TimeRange bounds{trace.start - slack, trace.end + slack};
  Nanoseconds length =
      std::clamp(view.length(), std::min(kShortestView, bounds.length()), bounds.length());
  Nanoseconds start = view.start;
  if (view.length() != length) start = view.start + (view.length() - length) / 2;
  start = std::clamp(start, bounds.start, bounds.end - length);
  return {start, start + length};
}

TimeRange zoomed(const TimeRange& view, double factor, Nanoseconds anchor, const TimeRange& trace) {
  const double slack = static_cast<double>(trace.length()) * (1 + 2 * kOverscroll);
  const double length = std::clamp(static_cast<double>(view.length()) * factor,
                                   static_cast<double>(kShortestView), slack);
  const double share =
      static_cast<double>(anchor - view.start) / static_cast<double>(view.length());
  const Nanoseconds start = anchor - rounded(share * length);
  return clamped({start, start + std::max<Nanoseconds>(1, rounded(length))}, trace);
}

TimeRange panned(const TimeRange& view, Nanoseconds by, const TimeRange& trace) {
  return clamped({view.start + by, view.end + by}, trace);
}

TimeRange fitted(const TimeRange& target, const TimeRange& trace) {
  const Nanoseconds margin = std::max<Nanoseconds>(1, target.length() / 20);
  return clamped({target.start - margin, target.end + margin}, trace);
}

std::vector<Tick> ruler_ticks(const TimeAxis& axis, Nanoseconds origin, double min_label_px) {
  std::vector<Tick> ticks;
  if (axis.width < 1) return ticks;
  const Nanoseconds step = nice_step(axis.ns_per_px() * min_label_px);
  // Five minor steps where they stay whole, else two or none.
  const Nanoseconds minor = step % 5 == 0 ? step / 5 : step % 2 == 0 ? step / 2 : step;
  Nanoseconds k = (axis.range.start - origin) / minor;
  if (origin + k * minor < axis.range.start) ++k;
  for (; origin + k * minor < axis.range.end; ++k) {
    const Nanoseconds t = k * minor;
    ticks.push_back({origin + t, t % step == 0 ? tick_label(t, step) : QString()});
  }
  return ticks;
}
}  // namespace stepcast::gui
