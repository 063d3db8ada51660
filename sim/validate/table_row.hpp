#pragma once
#include <map>
#include <optional>
#include <string>

#include "sim/io/csv.hpp"

namespace stepcast {
/// One row of a table, with cells that an assumption filled in where the source left them empty.
class TableRow {
 public:
  TableRow(const CsvTable& table, std::size_t row) : table_(&table), row_(row) {}
  const std::string& text(const std::string& column) const;
  std::optional<double> number(const std::string& column) const;
  /// A whole number; nullopt where empty, not a number or with a fraction.
  std::optional<std::int64_t> integer(const std::string& column) const;
  /// Fills an empty cell; a cell that holds something keeps it.
  void fill(const std::string& column, const std::string& text);
  /// A rule states a cell that the source states otherwise (a case name, a note).
  void overwrite(const std::string& column, const std::string& text) { filled_[column] = text; }
  std::size_t line() const { return table_->line_of(row_); }
  const std::string& file() const { return table_->file(); }

 private:
  const CsvTable* table_;
  std::size_t row_;
  std::map<std::string, std::string> filled_;
};
}  // namespace stepcast
