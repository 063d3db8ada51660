#pragma once
#include <QLabel>
#include <QVBoxLayout>
#include <QWidget>

#include "gui/document/workspace.hpp"
#include "gui/views/table_view.hpp"

namespace stepcast::gui {
/// A dock's content: a column of widgets over the shared workspace, brought up to date only while
/// it is visible.
class Panel : public QWidget {
  Q_OBJECT
 public:
  Panel(Workspace& workspace, QWidget* parent)
      : QWidget(parent), workspace_(workspace), column_(new QVBoxLayout(this)) {
    column_->setContentsMargins(4, 4, 4, 4);
    column_->setSpacing(4);
  }
  /// Something it shows has changed.
  void refresh() {
    is_stale_ = true;
    if (isVisible()) update_now();
  }
  void update_now() {
    if (!is_stale_) return;
    is_stale_ = false;
    rebuild();
  }

 protected:
  virtual void rebuild() = 0;
  void showEvent(QShowEvent* event) override {
    QWidget::showEvent(event);
    update_now();
  }
  /// A head line over a table.
  QLabel* add_label(const QString& text = {}) {
    auto* label = new QLabel(text, this);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    column_->addWidget(label);
    return label;
  }
  TableView* add_table(int stretch = 1) {
    auto* table = new TableView(this);
    column_->addWidget(table, stretch);
    return table;
  }
  Workspace& workspace_;
  QVBoxLayout* column_;

 private:
  bool is_stale_ = true;
};
}  // namespace stepcast::gui
