#pragma once
#include <string>
#include <vector>

namespace stepcast {
/// One line of a chart. Points are drawn in the order given; `labels` (empty or one per point)
/// stand above them.
struct ChartSeries {
  std::string name;
  std::vector<double> x, y;
  std::vector<std::string> labels;
  bool is_dashed = false;  // a reference rather than data: dashed, grey, without markers
};
struct ChartAxis {
  std::string title;  // with its unit
  bool is_log = false;
  std::vector<std::string> categories;  // not empty: x is the index into these texts
  bool is_amount = true;                // linear: starts at zero; otherwise where the data start
};
struct Chart {
  std::string title, subtitle;
  ChartAxis x, y;
  std::vector<ChartSeries> series;
};
/// Amounts that add up: a horizontal bar for every row, its parts one after another.
struct BarChart {
  struct Part {
    std::string name;
    std::vector<double> amounts;  // one per row, from 0; NaN is drawn as 0
  };
  std::string title, subtitle;
  std::string axis;                 // title of the axis of amounts, with its unit
  std::vector<std::string> rows;    // from the top
  std::vector<Part> parts;          // from the left
  std::vector<std::string> labels;  // at the ends of the bars; empty or one per row
  std::vector<bool> is_muted;       // rows drawn pale: shown, but no choice; empty or one per row
  double limit = 0;                 // a dashed line across all rows at this amount; 0: none
  std::string limit_name;
};
/// Writes the chart as .svg or .png by the name's ending (InputError for another). Throws
/// EnvironmentError when the file cannot be written. Points that are not finite, or not positive on
/// a log axis, are left out.
void write_chart(const Chart& chart, const std::string& path);
/// The chart as an SVG element, to stand in a page.
std::string chart_svg(const Chart& chart);
std::string chart_svg(const BarChart& chart);
}  // namespace stepcast
