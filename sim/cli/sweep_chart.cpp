#include "sim/cli/sweep_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "sim/core/counted.hpp"

namespace stepcast {
namespace {
bool is_number(const std::string& text, double& value) {
  char* end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return !text.empty() && end == text.c_str() + text.size() && std::isfinite(value);
}
std::string last_key(const std::string& pointer) { return pointer.substr(pointer.rfind('/') + 1); }

const std::map<std::string, std::string>& titles() {
  static const std::map<std::string, std::string> all{
      {"step_time_s", "step time (s)"},
      {"tokens_per_s", "throughput (tokens/s)"},
      {"samples_per_s", "throughput (samples/s)"},
      {"model_flops_utilization", "model FLOPs utilization (1 = peak)"},
      {"hardware_flops_utilization", "hardware FLOPs utilization (1 = peak)"},
      {"memory_worst_GiB", "memory of the fullest stage (GiB)"},
      {"usd_per_step", "rent per step (USD)"}};
  return all;
}
}  // namespace

Chart sweep_chart(const SweepTable& table, const std::vector<Variation>& variations,
                  const std::vector<GridPoint>& grid, const std::string& y_column,
                  const std::string& title, const std::string& subtitle) {
  Chart chart;
  chart.title = title;
  chart.subtitle = subtitle;
  const auto known = titles().find(y_column);
  chart.y.title = known == titles().end() ? y_column : known->second;
  chart.x.title =
      variations[0].pointer == "/cluster/nodes" ? "nodes" : last_key(variations[0].pointer);

  const std::vector<std::string>& values = variations[0].values;
  std::vector<double> xs(values.size());
  const bool is_numeric = std::all_of(values.begin(), values.end(), [&](const std::string& v) {
    return is_number(v, xs[static_cast<std::size_t>(&v - values.data())]);
  });
  if (!is_numeric) {
    chart.x.categories = values;
    for (std::size_t i = 0; i < xs.size(); ++i) xs[i] = static_cast<double>(i);
  } else if (const auto [low, high] = std::minmax_element(xs.begin(), xs.end());
             xs.size() > 2 && *low > 0 && *high / *low >= 8) {
    chart.x.is_log = true;
  } else {
    // Slowdowns from 1 to 2 and the like leave half of an axis from zero empty.
    constexpr double kMostEmpty = 0.3;  // share of the axis; by eye
    chart.x.is_amount = *low < kMostEmpty * *high;
  }

  std::map<std::string, std::size_t> series_of;
  for (const GridPoint& point : grid) {
    std::string name;
    for (std::size_t i = 1; i < point.size(); ++i)
      name += (name.empty() ? "" : ", ") + last_key(variations[i].pointer) + " " + point[i];
    const auto [at, is_new] = series_of.try_emplace(name, chart.series.size());
    if (is_new)
      chart.series.push_back(
          {.name = name.empty() ? "simulated" : name, .x = {}, .y = {}, .labels = {}});
    ChartSeries& series = chart.series[at->second];
    const double y = table.figure(point, y_column);
    if (!std::isfinite(y)) continue;
    series.x.push_back(xs[static_cast<std::size_t>(
        std::find(values.begin(), values.end(), point[0]) - values.begin())]);
    series.y.push_back(y);
  }

  const bool is_rate = y_column == "tokens_per_s" || y_column == "samples_per_s";
  if (variations[0].pointer == "/cluster/nodes" && is_rate && is_numeric) {
    chart.y.is_log = chart.x.is_log;
    if (chart.series.size() == 1 && chart.series[0].x.size() > 1 && chart.series[0].x[0] > 0) {
      ChartSeries& data = chart.series[0];
      ChartSeries ideal{.name = "linear from " + counted(data.x[0], "node"),
                        .x = data.x,
                        .y = {},
                        .labels = {},
                        .is_dashed = true};
      for (std::size_t i = 0; i < data.x.size(); ++i) {
        ideal.y.push_back(data.y[0] * data.x[i] / data.x[0]);
        data.labels.push_back(fmt::format("{:.0f} %", 100 * data.y[i] / ideal.y[i]));
      }
      chart.series.push_back(std::move(ideal));
    }
  }
  return chart;
}
}  // namespace stepcast
