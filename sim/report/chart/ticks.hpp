#pragma once
#include <string>
#include <vector>

namespace stepcast {
struct AxisScale {
  double low = 0, high = 1;
  bool is_log = false;
  std::vector<double> ticks;
  /// 0 at low, 1 at high.
  double share_of(double value) const;
};
/// A scale around [low, high] with round ticks: 1, 2 or 5 times a power of ten; on a log axis
/// powers of two when the range is within three decades of small whole numbers (node counts), else
/// powers of ten. A linear scale of amounts, which none is below, starts at zero.
AxisScale axis_scale(double low, double high, bool is_log, bool prefers_powers_of_two,
                     bool is_amount = true);
/// "1.5 M", "250", "0.02"
std::string tick_text(double value);
}  // namespace stepcast
