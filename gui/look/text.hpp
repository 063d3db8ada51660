#pragma once
#include <QString>
#include <cstdint>

#include "sim/core/units.hpp"

/// Numbers as a person reads them: four significant digits and a unit that keeps them between 1 and
/// 1000.
namespace stepcast::gui {
inline constexpr double kNsPerSecond = 1e9;
QString time_text(double ns);                        // "1.234 ms"
QString signed_time_text(double ns);                 // "+1.234 ms"
QString exact_time_text(Nanoseconds ns);             // "1 234 567 ns": nothing rounded
QString bytes_text(double bytes);                    // "1.5 GB" (1e9)
QString rate_text(double bytes_per_s);               // "312 GB/s"
QString count_text(std::int64_t count);              // "1 234 567"
QString percent_text(double share, int digits = 1);  // 0.123 -> "12.3 %"
QString signed_percent_text(double share);
QString number_text(double value);  // four significant digits, never 1e+06 below 1e9
}  // namespace stepcast::gui
