#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/result.hpp"

namespace stepcast {
/// A CSV table with a header line; RFC 4180 quoting; "" cells are unknown, not zero.
class CsvTable {
 public:
  /// Reads a file (.gz too). Problems: no header, a row with a different number of cells (line
  /// given), bad quoting.
  static Result<CsvTable> read(const std::string& path);
  static Result<CsvTable> parse(const std::string& text, const std::string& file_name);

  std::size_t rows() const { return cells_.size(); }
  const std::vector<std::string>& header() const { return header_; }
  bool has_column(const std::string& name) const { return column_.contains(name); }
  /// The cell's text; "" where the column is absent or the cell empty.
  const std::string& text(std::size_t row, const std::string& column) const;
  /// The cell as a finite number; nullopt where empty, absent or not a number.
  std::optional<double> number(std::size_t row, const std::string& column) const;
  std::size_t line_of(std::size_t row) const { return lines_[row]; }
  const std::string& file() const { return file_; }

 private:
  std::string file_;
  std::vector<std::string> header_;
  std::map<std::string, std::size_t> column_;
  std::vector<std::vector<std::string>> cells_;
  std::vector<std::size_t> lines_;
};
/// Quotes a cell where RFC 4180 asks for it.
std::string csv_cell(const std::string& text);
}  // namespace stepcast
