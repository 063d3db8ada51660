#pragma once
#include <QColor>
#include <QString>
#include <cstdint>
#include <limits>
#include <vector>

/// A table as plain values: built whole by a function of the document, shown by TableModel, written
/// as CSV.
namespace stepcast::gui {
enum class CellKind {
  text,
  time,
  signed_time,
  count,
  percent,
  signed_percent,
  bytes,
  rate,
  number
};

struct TableColumn {
  QString title;
  CellKind kind = CellKind::text;
  QString tip;          // definition of the figure
  bool is_bar = false;  // drawn with a bar of its share of the column's largest
};
struct TableCell {
  QString text;  // CellKind::text, or a remark in place of a number
  double value = std::numeric_limits<double>::quiet_NaN();
  TableCell() = default;
  TableCell(QString t) : text(std::move(t)) {}                  // NOLINT: implicit by design
  TableCell(const char* t) : text(QString::fromUtf8(t)) {}      // NOLINT
  TableCell(double v) : value(v) {}                             // NOLINT
  TableCell(std::int64_t v) : value(static_cast<double>(v)) {}  // NOLINT
  TableCell(int v) : value(v) {}                                // NOLINT
};
struct TableRow {
  std::vector<TableCell> cells;
  std::uint64_t id = 0;  // what the row stands for: a slice, a rank, an op ...
  QColor swatch;         // before the first cell; invalid: none
  QColor ink;            // text of the row; invalid: default
  QString tip;
};
struct Table {
  std::vector<TableColumn> columns;
  std::vector<TableRow> rows;
  QString empty_text = "No rows";
};

/// The cell as a person reads it.
QString cell_text(const TableCell& cell, CellKind kind);
/// RFC 4180, numbers in full precision and SI (seconds are ns here: the header says "ns"), headers
/// first.
QString csv_of(const Table& table);
/// Adds the unit of a numeric column to its title for CSV: "mean (ns)".
QString csv_title(const TableColumn& column);
}  // namespace stepcast::gui
