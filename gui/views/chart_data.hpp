#pragma once
#include <QColor>
#include <QString>
#include <vector>

/// What a chart shows, as plain values.
namespace stepcast::gui {
enum class ChartKind { line, bar, stacked_bar, waterfall, histogram, scatter, heat };

/// How the numbers of an axis are written.
enum class AxisUnit { number, time_ns, percent, bytes, rate };

struct ChartAxis {
  QString title;
  AxisUnit unit = AxisUnit::number;
  bool is_log = false;
  bool from_zero = true;
};
struct ChartSeries {
  QString name;
  QColor colour;
  std::vector<double> x, y;  // bar, waterfall and histogram: x is unused
  bool is_dashed = false;
  bool is_reference = false;  // drawn thin and behind
};
struct ChartData {
  ChartKind kind = ChartKind::line;
  QString title, note;  // note: one line below, e.g. what the figures are
  ChartAxis x, y;
  std::vector<ChartSeries> series;
  std::vector<QString>
      labels;  // bars: one per bar; waterfall: first and last are totals; heat: columns
  std::vector<QString> row_labels;  // heat: one per series
  std::vector<QColor> bar_colours;  // waterfall and single-series bars; may be empty
  std::vector<double> edges;        // histogram: one more than y
  double band = 0;                  // scatter: relative band around y = x, 0.1 = +-10 %
  QString empty_text = "Nothing to draw yet";
  bool is_empty() const;
  /// Smallest and largest y over all series, with zero when the axis starts there.
  std::pair<double, double> y_range() const;
  std::pair<double, double> x_range() const;
};

/// "1.5 ms", "12 %": a number in the axis' unit.
QString axis_text(double value, AxisUnit unit);
/// Round numbers covering [low, high], at most `most` of them; log: powers of ten (and 2, 5 where
/// few).
std::vector<double> axis_ticks(double low, double high, int most, bool is_log,
                               AxisUnit unit = AxisUnit::number);
}  // namespace stepcast::gui
