#include "gui/app/what_if_form.hpp"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/look/theme.hpp"

namespace stepcast::gui {
namespace {
enum Column { kName, kBase, kChange, kUnit, kSource };
constexpr int kPointerRole = Qt::UserRole, kChoicesRole = Qt::UserRole + 1;
}  // namespace

QWidget* FieldDelegate::createEditor(QWidget* parent, const QStyleOptionViewItem& option,
                                     const QModelIndex& index) const {
  if (index.column() != kChange) return nullptr;
  const QStringList choices = index.siblingAtColumn(0).data(kChoicesRole).toStringList();
  if (choices.isEmpty()) return QStyledItemDelegate::createEditor(parent, option, index);
  auto* box = new QComboBox(parent);
  box->addItem("");
  box->addItems(choices);
  return box;
}
void FieldDelegate::setEditorData(QWidget* editor, const QModelIndex& index) const {
  if (auto* box = qobject_cast<QComboBox*>(editor))
    box->setCurrentText(index.data().toString());
  else
    QStyledItemDelegate::setEditorData(editor, index);
}
void FieldDelegate::setModelData(QWidget* editor, QAbstractItemModel* model,
                                 const QModelIndex& index) const {
  if (auto* box = qobject_cast<QComboBox*>(editor))
    model->setData(index, box->currentText());
  else
    QStyledItemDelegate::setModelData(editor, model, index);
}

WhatIfForm::WhatIfForm(ScenarioDocument& scenario, QWidget* parent)
    : QWidget(parent), scenario_(scenario) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  find_ = new QLineEdit(this);
  find_->setPlaceholderText("Find a parameter");
  find_->setClearButtonEnabled(true);
  column->addWidget(find_);
  tree_ = new QTreeWidget(this);
  tree_->setColumnCount(5);
  tree_->setHeaderLabels({"parameter", "base", "change", "unit", "base from"});
  tree_->setItemDelegate(new FieldDelegate(tree_));
  tree_->setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed |
                         QAbstractItemView::SelectedClicked | QAbstractItemView::AnyKeyPressed);
  tree_->setAlternatingRowColors(true);
  tree_->setUniformRowHeights(true);
  column->addWidget(tree_, 1);
  auto* line = new QHBoxLayout;
  pointer_ = new QLineEdit(this);
  pointer_->setPlaceholderText("any other key: /training/attention");
  value_ = new QLineEdit(this);
  value_->setPlaceholderText("value");
  auto* add = new QPushButton("Set", this);
  line->addWidget(pointer_, 2);
  line->addWidget(value_, 1);
  line->addWidget(add);
  column->addLayout(line);
  connect(add, &QPushButton::clicked, this, [this] {
    if (pointer_->text().startsWith('/')) scenario_.set_change(pointer_->text(), value_->text());
  });
  connect(value_, &QLineEdit::returnPressed, add, &QPushButton::click);
  connect(find_, &QLineEdit::textChanged, this, [this](const QString& text) {
    for (int g = 0; g < tree_->topLevelItemCount(); ++g) {
      QTreeWidgetItem* group = tree_->topLevelItem(g);
      int shown = 0;
      for (int i = 0; i < group->childCount(); ++i) {
        const bool is_hit =
            text.isEmpty() || group->child(i)->text(kName).contains(text, Qt::CaseInsensitive) ||
            group->child(i)->data(0, kPointerRole).toString().contains(text, Qt::CaseInsensitive);
        group->child(i)->setHidden(!is_hit);
        shown += is_hit;
      }
      group->setHidden(shown == 0);
    }
  });
  connect(tree_, &QTreeWidget::itemChanged, this, [this](QTreeWidgetItem* item, int changed) {
    if (is_filling_ || changed != kChange || item->parent() == nullptr) return;
    scenario_.set_change(item->data(0, kPointerRole).toString(), item->text(kChange));
  });
  connect(&scenario, &ScenarioDocument::loaded, this, &WhatIfForm::rebuild);
  connect(&scenario, &ScenarioDocument::changed, this, &WhatIfForm::rebuild);
  rebuild();
}

void WhatIfForm::set_value(const QString& pointer, const QString& text) {
  for (QTreeWidgetItemIterator it(tree_); *it; ++it)
    if ((*it)->data(0, kPointerRole).toString() == pointer) {
      (*it)->setText(kChange, text);
      return;
    }
  scenario_.set_change(pointer, text);
}

void WhatIfForm::mark(QTreeWidgetItem* item) {
  const QString pointer = item->data(0, kPointerRole).toString();
  const ScenarioDocument::Base base = scenario_.base(pointer);
  const auto change = scenario_.changes().find(pointer);
  const bool is_changed = change != scenario_.changes().end();
  item->setText(kBase, base.text);
  item->setText(kSource, base.source);
  item->setText(kChange, is_changed ? change->second : QString());
  item->setForeground(kSource, theme().dim_text);
  item->setForeground(kUnit, theme().dim_text);
  item->setForeground(kBase, is_changed ? theme().dim_text : theme().text);
  item->setForeground(kChange, theme().b_edge);
  QFont font = this->font();
  font.setBold(is_changed);
  item->setFont(kChange, font);
  item->setFont(kName, font);
}

void WhatIfForm::rebuild() {
  is_filling_ = true;
  if (tree_->topLevelItemCount() == 0) {
    for (const ScenarioField& field : scenario_fields()) {
      QTreeWidgetItem* group = nullptr;
      for (int g = 0; g < tree_->topLevelItemCount(); ++g)
        if (tree_->topLevelItem(g)->text(0) == field.group) group = tree_->topLevelItem(g);
      if (group == nullptr) {
        group = new QTreeWidgetItem(tree_, {field.group});
        group->setFirstColumnSpanned(true);
        group->setExpanded(true);
      }
      auto* item = new QTreeWidgetItem(group, {field.label, "", "", field.unit, ""});
      item->setData(0, kPointerRole, field.pointer);
      item->setData(0, kChoicesRole, field.choices);
      item->setToolTip(kName, field.pointer + (field.tip.isEmpty() ? "" : "\n" + field.tip));
      item->setFlags(item->flags() | Qt::ItemIsEditable);
    }
    tree_->header()->resizeSection(kName, 190);
    tree_->header()->resizeSection(kBase, 120);
    tree_->header()->resizeSection(kChange, 120);
    tree_->header()->resizeSection(kUnit, 60);
  }
  // Changes of keys that are no field of the form get a group of their own.
  std::map<QString, QTreeWidgetItem*> items;
  QTreeWidgetItem* others = nullptr;
  for (QTreeWidgetItemIterator it(tree_); *it; ++it) {
    if ((*it)->parent() == nullptr && (*it)->text(0) == "Other keys") others = *it;
    if ((*it)->parent() != nullptr) items[(*it)->data(0, kPointerRole).toString()] = *it;
  }
  for (const auto& [pointer, text] : scenario_.changes()) {
    if (items.contains(pointer)) continue;
    if (others == nullptr) {
      others = new QTreeWidgetItem(tree_, {"Other keys"});
      others->setExpanded(true);
    }
    auto* item = new QTreeWidgetItem(others, {pointer});
    item->setData(0, kPointerRole, pointer);
    item->setFlags(item->flags() | Qt::ItemIsEditable);
    items[pointer] = item;
  }
  for (const auto& [pointer, item] : items) mark(item);
  is_filling_ = false;
}
}  // namespace stepcast::gui
