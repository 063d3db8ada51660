#pragma once
#include <QLabel>
#include <QLineEdit>
#include <QStyledItemDelegate>
#include <QTreeWidget>
#include <QWidget>

#include "gui/document/scenario_document.hpp"

namespace stepcast::gui {
/// Editors of the form's column of changes: a list where the field has choices, else text.
class FieldDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem& option,
                        const QModelIndex& index) const override;
  void setEditorData(QWidget* editor, const QModelIndex& index) const override;
  void setModelData(QWidget* editor, QAbstractItemModel* model,
                    const QModelIndex& index) const override;
};

/// The scenario as a form: every field with the value that holds without changes beside the change.
class WhatIfForm : public QWidget {
  Q_OBJECT
 public:
  WhatIfForm(ScenarioDocument& scenario, QWidget* parent);
  QTreeWidget& tree() { return *tree_; }
  /// Types a value into a field, as the editor does.
  void set_value(const QString& pointer, const QString& text);
  void rebuild();

 private:
  void mark(QTreeWidgetItem* item);
  ScenarioDocument& scenario_;
  QTreeWidget* tree_;
  QLineEdit *find_, *pointer_, *value_;
  bool is_filling_ = false;
};
}  // namespace stepcast::gui
