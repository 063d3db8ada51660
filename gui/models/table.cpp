#include "gui/models/table.hpp"

#include <cmath>

#include "gui/look/text.hpp"

namespace stepcast::gui {
QString cell_text(const TableCell& cell, CellKind kind) {
  if (kind == CellKind::text || !std::isfinite(cell.value)) return cell.text;
  switch (kind) {
    case CellKind::time: return time_text(cell.value);
    case CellKind::signed_time: return signed_time_text(cell.value);
    case CellKind::count: return count_text(static_cast<std::int64_t>(std::llround(cell.value)));
    case CellKind::percent: return percent_text(cell.value);
    case CellKind::signed_percent: return signed_percent_text(cell.value);
    case CellKind::bytes: return bytes_text(cell.value);
    case CellKind::rate: return rate_text(cell.value);
    case CellKind::number: return number_text(cell.value);
    case CellKind::text: break;
  }
  return cell.text;
}

QString csv_field(const QString& text) {
  if (!text.contains(',') && !text.contains('"') && !text.contains('\n')) return text;
  QString quoted = text;
  return '"' + quoted.replace("\"", "\"\"") + '"';
}

QString csv_title(const TableColumn& column) {
  switch (column.kind) {
    case CellKind::time:
    case CellKind::signed_time: return column.title + " (ns)";
    case CellKind::percent:
    case CellKind::signed_percent: return column.title + " (share)";
    case CellKind::bytes: return column.title + " (B)";
    case CellKind::rate: return column.title + " (B/s)";
    default: return column.title;
  }
}

QString csv_of(const Table& table) {
  QString out;
  for (std::size_t c = 0; c < table.columns.size(); ++c) out += (c == 0 ? "" : ",") + csv_field(csv_title(table.columns[c]));
  out += '\n';
  for (const TableRow& row : table.rows) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (c > 0) out += ',';
      if (c >= row.cells.size()) continue;
      const TableCell& cell = row.cells[c];
      const bool is_number = table.columns[c].kind != CellKind::text && std::isfinite(cell.value);
      out += is_number ? QString::number(cell.value, 'g', 17) : csv_field(cell.text);
    }
    out += '\n';
  }
  return out;
}
}  // namespace stepcast::gui
