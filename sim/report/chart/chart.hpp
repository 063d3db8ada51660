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
};
struct Chart {
  std::string title, subtitle;
  ChartAxis x, y;
  std::vector<ChartSeries> series;
};
/// Writes the chart as .svg or .png by the name's ending (InputError for another). Throws
/// EnvironmentError when the file cannot be written. Points that are not finite, or not positive on
/// a log axis, are left out.
void write_chart(const Chart& chart, const std::string& path);
/// The chart as an SVG element, to stand in a page.
std::string chart_svg(const Chart& chart);
}  // namespace stepcast
