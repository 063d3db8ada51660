#pragma once
#include <QAbstractTableModel>

#include "gui/models/table.hpp"

namespace stepcast::gui {
/// Shows a Table: sorts and filters by index, so that the values are never copied.
class TableModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Role { kSortRole = Qt::UserRole, kIdRole, kBarRole, kSwatchRole };
  using QAbstractTableModel::QAbstractTableModel;

  void set_table(Table table);
  const Table& table() const { return table_; }
  /// Keeps rows in which any cell's text contains `text`, whatever its case; "" = all.
  void set_filter(const QString& text);
  /// The shown rows in their shown order, as CSV.
  QString csv() const;
  const TableRow& row_at(int row) const {
    return table_.rows[order_[static_cast<std::size_t>(row)]];
  }
  /// The shown row with this id, or -1.
  int row_of(std::uint64_t id) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation,
                      int role = Qt::DisplayRole) const override;
  void sort(int column, Qt::SortOrder order = Qt::AscendingOrder) override;

 private:
  void rebuild_order();
  Table table_;
  std::vector<std::size_t> order_;
  std::vector<double> column_max_;
  QString filter_;
  int sort_column_ = -1;
  Qt::SortOrder sort_order_ = Qt::DescendingOrder;
};
}  // namespace stepcast::gui
