#pragma once
#include <QStyledItemDelegate>
#include <QTableView>

#include "gui/models/table_model.hpp"

namespace stepcast::gui {
/// Draws a cell's share of its column as a bar behind the text, and swatches of categories.
class BarDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;
};

/// A table of figures: sortable, copied with Ctrl+C (tab separated), exported as CSV; says why it
/// is empty.
class TableView : public QTableView {
  Q_OBJECT
 public:
  explicit TableView(QWidget* parent = nullptr);
  TableModel& table_model() { return *model_; }
  void show_table(Table table);
  /// The selected rows (all when none is) with headers, tab separated.
  QString copied_text() const;
  /// Writes the shown rows; an empty path asks for one. Answers what went wrong, or "".
  QString export_csv(QString path = {});

 signals:
  void row_chosen(qulonglong id);     // a click or the cursor keys
  void row_activated(qulonglong id);  // Enter or a double click

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  void fit_columns();
  TableModel* model_;
};
}  // namespace stepcast::gui
