#include "gui/look/text.hpp"

#include <array>
#include <cmath>

namespace stepcast::gui {
namespace {
struct Unit {
  double size;
  const char* text;
};

/// Four significant digits: 1.234, 12.34, 123.4, 1234.
QString digits(double value) {
  const double size = std::abs(value);
  if (size == 0) return "0";
  const int decimals = size < 10 ? 3 : size < 100 ? 2 : size < 1000 ? 1 : 0;
  return QString::number(value, 'f', decimals);
}
template <std::size_t N>
QString scaled(double value, const std::array<Unit, N>& units) {
  const double size = std::abs(value);
  if (!std::isfinite(value)) return "-";
  for (const Unit& unit : units)
    // 0.99995 keeps 999.96 us from becoming "1000.0 us".
    if (size >= unit.size * 0.99995) return digits(value / unit.size) + ' ' + unit.text;
  return digits(value / units.back().size) + ' ' + units.back().text;
}
QString grouped(std::int64_t value) {
  QString text = QString::number(value < 0 ? -value : value);
  for (qsizetype i = text.size() - 3; i > 0; i -= 3)
    text.insert(i, QChar(0x202F));  // narrow no-break space
  return value < 0 ? "-" + text : text;
}
}  // namespace

QString time_text(double ns) {
  if (ns == 0) return "0 ns";
  constexpr std::array<Unit, 5> units{
      {{3.6e12, "h"}, {1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}};
  QString text = scaled(ns, units);
  if (std::abs(ns) < 1000 && ns == std::floor(ns)) text = QString::number(ns, 'f', 0) + " ns";
  return text.replace("us", QString(QChar(0x00B5)) + "s");
}
QString signed_time_text(double ns) { return (ns > 0 ? "+" : "") + time_text(ns); }
QString exact_time_text(Nanoseconds ns) { return grouped(ns) + " ns"; }
QString bytes_text(double bytes) {
  constexpr std::array<Unit, 5> units{
      {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}};
  return bytes == 0 ? "0 B" : scaled(bytes, units);
}
QString rate_text(double bytes_per_s) {
  return bytes_per_s > 0 ? bytes_text(bytes_per_s) + "/s" : "-";
}
QString count_text(std::int64_t count) { return grouped(count); }
QString percent_text(double share, int decimals) {
  return std::isfinite(share) ? QString::number(share * 100, 'f', decimals) + " %" : QString("-");
}
QString signed_percent_text(double share) { return (share > 0 ? "+" : "") + percent_text(share); }
QString number_text(double value) {
  if (!std::isfinite(value)) return "-";
  if (value == std::floor(value) && std::abs(value) < 1e5) return QString::number(value, 'f', 0);
  constexpr std::array<Unit, 5> units{{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}}};
  if (std::abs(value) >= 1) return scaled(value, units).trimmed();
  return QString::number(value, 'g', 4);
}
}  // namespace stepcast::gui
