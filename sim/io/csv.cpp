#include "sim/io/csv.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "sim/io/files.hpp"

namespace stepcast {
namespace {
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // UTF-8's, before what Excel writes

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Comma, unless the header has none and is parted by semicolons or tabs.
char separator_of(std::string_view text) {
  const std::string_view header = text.substr(0, text.find_first_of("\r\n"));
  if (header.find(',') == std::string_view::npos)
    for (const char other : {';', '\t'})
      if (header.find(other) != std::string_view::npos) return other;
  return ',';
}
}  // namespace

Result<CsvTable> CsvTable::read(const std::string& path) {
  auto text = read_file(path);
  if (!text) return text.problems();
  return parse(*text, path);
}

Result<CsvTable> CsvTable::parse(const std::string& text, const std::string& file_name) {
  CsvTable table;
  table.file_ = file_name;
  Problems problems;
  std::vector<std::string> record;
  std::string cell;
  const std::size_t begin = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  const char separator = separator_of(std::string_view(text).substr(begin));
  bool quoted = false, any = false;
  std::size_t line = 1, record_line = 1;
  const auto end_record = [&] {
    if (!any && record.empty() && cell.empty()) return;  // blank line
    record.push_back(std::move(cell));
    cell.clear();
    any = false;
    if (table.header_.empty()) {
      for (std::size_t i = 0; i < record.size(); ++i) {
        record[i] = trimmed(record[i]);
        const bool is_again = !table.column_.emplace(record[i], i).second && !record[i].empty();
        if (is_again && problems.empty())
          problems.add({file_name, "line " + std::to_string(record_line),
                        fmt::format("names the column \"{}\" twice", record[i]), ""});
      }
      table.header_ = std::move(record);
    } else if (record.size() != table.header_.size()) {
      if (problems.size() < 20)
        problems.add(
            {file_name, "line " + std::to_string(record_line),
             fmt::format("has {} cells, the header has {}", record.size(), table.header_.size()),
             ""});
    } else {
      table.cells_.push_back(std::move(record));
      table.lines_.push_back(record_line);
    }
    record.clear();
  };
  for (std::size_t i = begin; i < text.size(); ++i) {
    // A carriage return alone ends a line too, as old spreadsheets write it.
    const bool is_return = text[i] == '\r' && !(i + 1 < text.size() && text[i + 1] == '\n');
    const char c = is_return && !quoted ? '\n' : text[i];
    if (c == '\n') ++line;
    if (quoted) {
      if (c != '"')
        cell += c;
      else if (i + 1 < text.size() && text[i + 1] == '"') {
        cell += '"';
        ++i;
      } else
        quoted = false;
    } else if (c == '"') {
      quoted = true;
      any = true;
    } else if (c == separator) {
      record.push_back(std::move(cell));
      cell.clear();
      any = true;
    } else if (c == '\n') {
      end_record();
      record_line = line;
    } else if (c != '\r')
      cell += c;
  }
  if (quoted)
    problems.add(
        {file_name, "line " + std::to_string(record_line), "a quoted cell never ends", ""});
  else
    end_record();
  if (table.header_.empty()) problems.add({file_name, "", "has no header line", ""});
  if (!problems.empty()) return problems;
  return table;
}

const std::string& CsvTable::text(std::size_t row, const std::string& column) const {
  static const std::string none;
  const auto it = column_.find(column);
  return it == column_.end() ? none : cells_[row][it->second];
}

std::optional<double> CsvTable::number(std::size_t row, const std::string& column) const {
  const std::string cell = trimmed(text(row, column));
  if (cell.empty()) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(cell.c_str(), &end);
  if (end == cell.c_str() || *end != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}
}  // namespace stepcast
