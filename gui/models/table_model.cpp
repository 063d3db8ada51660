#include "gui/models/table_model.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stepcast::gui {
void TableModel::set_table(Table table) {
  beginResetModel();
  table_ = std::move(table);
  column_max_.assign(table_.columns.size(), 0);
  for (const TableRow& row : table_.rows)
    for (std::size_t c = 0; c < std::min(row.cells.size(), column_max_.size()); ++c)
      if (std::isfinite(row.cells[c].value))
        column_max_[c] = std::max(column_max_[c], std::abs(row.cells[c].value));
  if (sort_column_ >= static_cast<int>(table_.columns.size())) sort_column_ = -1;
  rebuild_order();
  endResetModel();
}

void TableModel::set_filter(const QString& text) {
  beginResetModel();
  filter_ = text;
  rebuild_order();
  endResetModel();
}

void TableModel::rebuild_order() {
  order_.clear();
  for (std::size_t r = 0; r < table_.rows.size(); ++r) {
    bool is_kept = filter_.isEmpty();
    for (std::size_t c = 0;
         !is_kept && c < table_.rows[r].cells.size() && c < table_.columns.size(); ++c)
      is_kept = cell_text(table_.rows[r].cells[c], table_.columns[c].kind)
                    .contains(filter_, Qt::CaseInsensitive);
    if (is_kept) order_.push_back(r);
  }
  if (sort_column_ < 0) return;
  const auto column = static_cast<std::size_t>(sort_column_);
  const auto less = [&](std::size_t a, std::size_t b) {
    const auto& left = table_.rows[a].cells[column];
    const auto& right = table_.rows[b].cells[column];
    const bool l = std::isfinite(left.value), r = std::isfinite(right.value);
    if (l && r) return left.value < right.value;
    if (l != r) return r;  // remarks stand before numbers
    return QString::localeAwareCompare(left.text, right.text) < 0;
  };
  std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
    return sort_order_ == Qt::AscendingOrder ? less(a, b) : less(b, a);
  });
}

QString TableModel::csv() const {
  Table shown{table_.columns, {}, {}};
  for (const std::size_t r : order_) shown.rows.push_back(table_.rows[r]);
  return csv_of(shown);
}

int TableModel::row_of(std::uint64_t id) const {
  for (std::size_t i = 0; i < order_.size(); ++i)
    if (table_.rows[order_[i]].id == id) return static_cast<int>(i);
  return -1;
}

int TableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(order_.size());
}
int TableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(table_.columns.size());
}

QVariant TableModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const TableRow& row = row_at(index.row());
  const auto c = static_cast<std::size_t>(index.column());
  if (c >= row.cells.size()) return {};
  const TableColumn& column = table_.columns[c];
  const TableCell& cell = row.cells[c];
  switch (role) {
    case Qt::DisplayRole:
      return cell_text(cell, column.kind);
    case Qt::ToolTipRole:
      return !row.tip.isEmpty() ? row.tip : cell_text(cell, column.kind);
    case Qt::TextAlignmentRole:
      return QVariant(Qt::AlignVCenter |
                      (column.kind == CellKind::text ? Qt::AlignLeft : Qt::AlignRight));
    case Qt::ForegroundRole:
      return row.ink.isValid() ? QVariant(row.ink) : QVariant();
    case Qt::DecorationRole:
      return c == 0 && row.swatch.isValid() ? QVariant(row.swatch) : QVariant();
    case kSortRole:
      return std::isfinite(cell.value) ? QVariant(cell.value) : QVariant(cell.text);
    case kIdRole:
      return QVariant::fromValue<qulonglong>(row.id);
    case kSwatchRole:
      return row.swatch;
    case kBarRole:
      return column.is_bar && column_max_[c] > 0 && std::isfinite(cell.value)
                 ? QVariant(cell.value / column_max_[c])
                 : QVariant();
    default:
      return {};
  }
}

QVariant TableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 ||
      section >= static_cast<int>(table_.columns.size()))
    return {};
  const TableColumn& column = table_.columns[static_cast<std::size_t>(section)];
  if (role == Qt::DisplayRole) return column.title;
  if (role == Qt::ToolTipRole) return column.tip.isEmpty() ? column.title : column.tip;
  if (role == Qt::TextAlignmentRole)
    return QVariant(Qt::AlignVCenter |
                    (column.kind == CellKind::text ? Qt::AlignLeft : Qt::AlignRight));
  return {};
}

void TableModel::sort(int column, Qt::SortOrder order) {
  if (column >= static_cast<int>(table_.columns.size())) return;
  emit layoutAboutToBeChanged();
  const auto before = persistentIndexList();
  std::vector<std::size_t> rows_before;
  for (const QModelIndex& i : before)
    rows_before.push_back(order_[static_cast<std::size_t>(i.row())]);
  sort_column_ = column;
  sort_order_ = order;
  rebuild_order();
  QModelIndexList after;
  for (qsizetype i = 0; i < before.size(); ++i) {
    const auto at =
        std::find(order_.begin(), order_.end(), rows_before[static_cast<std::size_t>(i)]);
    after.append(index(static_cast<int>(at - order_.begin()), before[i].column()));
  }
  changePersistentIndexList(before, after);
  emit layoutChanged();
}
}  // namespace stepcast::gui
