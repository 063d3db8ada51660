#include "sim/validate/table_row.hpp"

#include <cmath>
#include <cstdlib>

namespace stepcast {

const std::string& TableRow::text(const std::string& column) const {
  const auto filled = filled_.find(column);
  return filled == filled_.end() ? table_->text(row_, column) : filled->second;
}

std::optional<double> TableRow::number(const std::string& column) const {
  const auto filled = filled_.find(column);
  if (filled == filled_.end()) return table_->number(row_, column);
  char* end = nullptr;
  const double value = std::strtod(filled->second.c_str(), &end);
  if (filled->second.empty() || *end != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> TableRow::integer(const std::string& column) const {
  const auto value = number(column);
  if (!value || *value != std::floor(*value) || std::abs(*value) > 1e15) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

void TableRow::fill(const std::string& column, const std::string& text) {
  if (this->text(column).empty()) filled_[column] = text;
}
}  // namespace stepcast
