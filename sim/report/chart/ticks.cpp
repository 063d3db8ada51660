#include "sim/report/chart/ticks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stepcast {

double AxisScale::share_of(double value) const {
  if (is_log) return (std::log(value) - std::log(low)) / (std::log(high) - std::log(low));
  return (value - low) / (high - low);
}

AxisScale axis_scale(double low, double high, bool is_log, bool prefers_powers_of_two,
                     bool is_amount) {
  AxisScale scale;
  scale.is_log = is_log;
  if (is_log) {
    const double base = prefers_powers_of_two ? 2 : 10;
    const double first = std::floor(std::log(low) / std::log(base) + 1e-9),
                 last = std::ceil(std::log(high) / std::log(base) - 1e-9);
    scale.low = std::pow(base, first);
    scale.high = std::pow(base, std::max(last, first + 1));
    const double every = std::max(1.0, std::ceil((last - first) / 12));  // at most a dozen labels
    for (double e = first; e <= std::max(last, first + 1) + 1e-9; e += every) {
      scale.ticks.push_back(std::pow(base, e));
      if (base == 10 && last - first <= 2)
        for (const double m : {2.0, 5.0})
          if (m * std::pow(base, e) <= scale.high) scale.ticks.push_back(m * std::pow(base, e));
    }
    return scale;
  }
  if (is_amount) low = std::min(low, 0.0);
  if (high <= low) high = low + 1;
  const double rough = (high - low) / 6;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double step = power * (rough / power <= 1   ? 1
                               : rough / power <= 2 ? 2
                               : rough / power <= 5 ? 5
                                                    : 10);
  scale.low = std::floor(low / step) * step;
  scale.high = std::ceil(high / step - 1e-9) * step;
  for (int i = 0; scale.low + i * step <= scale.high + step / 2; ++i)
    scale.ticks.push_back(scale.low + i * step);
  return scale;
}

std::string tick_text(double value) {
  for (const auto& [unit, suffix] : {std::pair{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e4, " k"}})
    if (std::abs(value) >= unit)
      return fmt::format("{:.4g}{}", value / (unit == 1e4 ? 1e3 : unit), suffix);
  return fmt::format("{:.4g}", value);
}
}  // namespace stepcast
