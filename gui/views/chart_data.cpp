#include "gui/views/chart_data.hpp"

#include <algorithm>
#include <cmath>

#include "gui/look/text.hpp"

namespace stepcast::gui {
namespace {
void take(std::pair<double, double>& range, double value) {
  if (!std::isfinite(value)) return;
  range.first = std::min(range.first, value);
  range.second = std::max(range.second, value);
}
std::pair<double, double> settled(std::pair<double, double> range, bool from_zero) {
  if (range.first > range.second) return {0, 1};
  if (from_zero) take(range, 0);
  if (range.first == range.second)
    range.second = range.first + (range.first == 0 ? 1 : std::abs(range.first) * 0.1);
  return range;
}
}  // namespace

bool ChartData::is_empty() const {
  return std::all_of(series.begin(), series.end(),
                     [](const ChartSeries& s) { return s.y.empty(); });
}

std::pair<double, double> ChartData::y_range() const {
  std::pair range{std::numeric_limits<double>::infinity(),
                  -std::numeric_limits<double>::infinity()};
  if (kind == ChartKind::stacked_bar) {
    for (std::size_t bar = 0; bar < labels.size(); ++bar) {
      double sum = 0;
      for (const ChartSeries& s : series)
        if (bar < s.y.size() && std::isfinite(s.y[bar])) sum += s.y[bar];
      take(range, sum);
    }
  } else if (kind == ChartKind::waterfall && !series.empty()) {
    double level = 0;
    const auto& bars = series[0].y;
    for (std::size_t bar = 0; bar < bars.size(); ++bar) {
      level = bar == 0 || bar + 1 == bars.size() ? bars[bar] : level + bars[bar];
      take(range, level);
    }
  } else {
    for (const ChartSeries& s : series)
      for (const double v : s.y)
        if (!this->y.is_log || v > 0) take(range, v);
  }
  return settled(range, this->y.from_zero && !this->y.is_log);
}

std::pair<double, double> ChartData::x_range() const {
  std::pair range{std::numeric_limits<double>::infinity(),
                  -std::numeric_limits<double>::infinity()};
  if (kind == ChartKind::histogram) {
    for (const double edge : edges) take(range, edge);
  } else {
    for (const ChartSeries& s : series)
      for (const double v : s.x)
        if (!x.is_log || v > 0) take(range, v);
  }
  return settled(range, x.from_zero && !x.is_log && kind != ChartKind::histogram);
}

QString axis_text(double value, AxisUnit unit) {
  switch (unit) {
    case AxisUnit::time_ns:
      return value == 0 ? "0" : time_text(value);
    case AxisUnit::percent:
      return percent_text(value, std::abs(value) < 0.1 && value != 0 ? 1 : 0);
    case AxisUnit::bytes:
      return bytes_text(value);
    case AxisUnit::rate:
      return value == 0 ? "0" : rate_text(value);
    case AxisUnit::number:
      return number_text(value);
  }
  return {};
}

std::vector<double> axis_ticks(double low, double high, int most, bool is_log, AxisUnit) {
  std::vector<double> ticks;
  most = std::max(2, most);
  if (is_log) {
    if (low <= 0 || high <= low) return {high};
    const int first = static_cast<int>(std::floor(std::log10(low))),
              last = static_cast<int>(std::ceil(std::log10(high)));
    const int stride = std::max(1, (last - first) / most);
    for (int decade = first; decade <= last; decade += stride)
      for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor != 1 && (last - first) * 3 > most) continue;
        const double value = factor * std::pow(10, decade);
        if (value >= low * 0.999 && value <= high * 1.001) ticks.push_back(value);
      }
    return ticks;
  }
  const double rough = (high - low) / most;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = power * 10;
  for (const double factor : {1.0, 2.0, 5.0})
    if (power * factor >= rough) {
      step = power * factor;
      break;
    }
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + step * 1e-9; ++k)
    ticks.push_back(k == 0 ? 0 : k * step);
  return ticks;
}
}  // namespace stepcast::gui
