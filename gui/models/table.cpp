#include "gui/models/table.hpp"

#include <algorithm>
#include <cmath>

#include "gui/look/text.hpp"
#include "sim/timeline/export/export.hpp"

namespace stepcast::gui {
QString cell_text(const TableCell& cell, CellKind kind) {
  if (kind == CellKind::text || !std::isfinite(cell.value)) return cell.text;
  switch (kind) {
    case CellKind::time:
      return time_text(cell.value);
    case CellKind::signed_time:
      return signed_time_text(cell.value);
    case CellKind::count:
      return count_text(static_cast<std::int64_t>(std::llround(cell.value)));
    case CellKind::percent:
      return percent_text(cell.value);
    case CellKind::signed_percent:
      return signed_percent_text(cell.value);
    case CellKind::bytes:
      return bytes_text(cell.value);
    case CellKind::rate:
      return rate_text(cell.value);
    case CellKind::number:
      return number_text(cell.value);
    case CellKind::text:
      break;
  }
  return cell.text;
}

QString csv_title(const TableColumn& column) {
  switch (column.kind) {
    case CellKind::time:
    case CellKind::signed_time:
      return column.title + " (ns)";
    case CellKind::percent:
    case CellKind::signed_percent:
      return column.title + " (share)";
    case CellKind::bytes:
      return column.title + " (B)";
    case CellKind::rate:
      return column.title + " (B/s)";
    default:
      return column.title;
  }
}

QString csv_of(const Table& table) {
  std::vector<std::string> header;
  for (const TableColumn& column : table.columns) header.push_back(csv_title(column).toStdString());
  std::vector<std::vector<std::string>> rows;
  for (const TableRow& row : table.rows) {
    std::vector<std::string>& cells = rows.emplace_back(table.columns.size());
    for (std::size_t c = 0; c < std::min(table.columns.size(), row.cells.size()); ++c) {
      const bool is_number =
          table.columns[c].kind != CellKind::text && std::isfinite(row.cells[c].value);
      cells[c] = (is_number ? QString::number(row.cells[c].value, 'g', 17) : row.cells[c].text)
                     .toStdString();
    }
  }
  return QString::fromStdString(trace::csv_text(header, rows));
}
}  // namespace stepcast::gui
