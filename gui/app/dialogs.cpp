#include "gui/app/dialogs.hpp"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QMessageBox>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/look/theme.hpp"

namespace stepcast::gui {
KeySheet::KeySheet(ActionList& actions, QWidget* parent) : QDialog(parent), actions_(actions) {
  setWindowTitle("Keys");
  resize(820, 640);
  auto* column = new QVBoxLayout(this);
  auto* mouse = new QLabel(
      "Mouse: drag marks an area, Shift+drag pans, middle drag zooms into what it spans, wheel "
      "scrolls rows, Ctrl+wheel zooms, "
      "Shift+wheel pans, double click fits a slice, Alt while dragging turns snapping off, "
      "Ctrl+drag shifts B. A click in the gutter opens a rank.",
      this);
  mouse->setWordWrap(true);
  column->addWidget(mouse);
  find_ = new QLineEdit(this);
  find_->setPlaceholderText("Find an action or a key");
  column->addWidget(find_);
  table_ = new QTableWidget(this);
  table_->setColumnCount(4);
  table_->setHorizontalHeaderLabels(
      {"Group", "Action", "Keys (double click to change)", "What it does"});
  table_->verticalHeader()->hide();
  table_->horizontalHeader()->setStretchLastSection(true);
  table_->setAlternatingRowColors(true);
  table_->setShowGrid(false);
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  column->addWidget(table_, 1);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  QPushButton* reset = buttons->addButton("All keys as delivered", QDialogButtonBox::ResetRole);
  column->addWidget(buttons);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(reset, &QPushButton::clicked, this, [this] {
    actions_.reset_all();
    fill();
  });
  connect(find_, &QLineEdit::textChanged, this, [this](const QString& text) {
    for (int r = 0; r < table_->rowCount(); ++r) {
      bool is_hit = text.isEmpty();
      for (int c = 0; c < 4 && !is_hit; ++c)
        is_hit = table_->item(r, c)->text().contains(text, Qt::CaseInsensitive);
      table_->setRowHidden(r, !is_hit);
    }
  });
  connect(table_, &QTableWidget::itemChanged, this, [this](QTableWidgetItem* item) {
    if (is_filling_ || item->column() != 2) return;
    const QString problem = rebind(item->row(), item->text());
    if (!problem.isEmpty()) QMessageBox::warning(this, "Keys", problem);
    fill();
  });
  fill();
}

void KeySheet::fill() {
  is_filling_ = true;
  const auto& specs = action_specs();
  table_->setRowCount(static_cast<int>(specs.size()));
  for (int r = 0; r < table_->rowCount(); ++r) {
    const ActionSpec& spec = specs[static_cast<std::size_t>(r)];
    const QStringList texts{spec.group, spec.text, keys_text(*actions_[spec.id]), spec.tip};
    for (int c = 0; c < 4; ++c) {
      auto* item = new QTableWidgetItem(texts[c]);
      item->setFlags(c == 2 ? Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsEditable
                            : Qt::ItemIsEnabled | Qt::ItemIsSelectable);
      table_->setItem(r, c, item);
    }
  }
  table_->resizeColumnsToContents();
  is_filling_ = false;
}

QString KeySheet::rebind(int row, const QString& text) {
  QList<QKeySequence> keys;
  for (const QString& part : text.split(", ", Qt::SkipEmptyParts)) {
    const QKeySequence key(part.trimmed());
    if (key.isEmpty() || key[0].key() == Qt::Key_unknown)
      return "\"" + part + "\" is no key; write for instance Ctrl+Shift+K";
    keys << key;
  }
  const QString taken = actions_.rebind(action_specs()[static_cast<std::size_t>(row)].id, keys);
  return taken.isEmpty() ? QString() : "That key already belongs to \"" + taken + "\"";
}

int fuzzy_score(const QString& pattern, const QString& text) {
  int score = 0;
  qsizetype at = -1;
  for (const QChar c : pattern) {
    if (c.isSpace()) continue;
    const qsizetype next = text.indexOf(c, at + 1, Qt::CaseInsensitive);
    if (next < 0) return -1;
    // Neighbouring letters and starts of words are what people mean.
    const bool starts_word = next == 0 || !text[next - 1].isLetterOrNumber();
    score += next == at + 1 ? 0
             : starts_word  ? 1
                            : static_cast<int>(std::min<qsizetype>(10, next - at));
    at = next;
  }
  return score;
}

Palette::Palette(std::vector<Entry> entries, const QString& hint, QWidget* parent)
    : QDialog(parent, Qt::Dialog | Qt::FramelessWindowHint), entries_(std::move(entries)) {
  resize(560, 420);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(8, 8, 8, 8);
  find_ = new QLineEdit(this);
  find_->setPlaceholderText(hint);
  list_ = new QListWidget(this);
  list_->setUniformItemSizes(true);
  column->addWidget(find_);
  column->addWidget(list_, 1);
  find_->installEventFilter(this);
  connect(find_, &QLineEdit::textChanged, this, &Palette::narrow);
  connect(find_, &QLineEdit::returnPressed, this, &Palette::run_current);
  connect(list_, &QListWidget::itemActivated, this, &Palette::run_current);
  narrow({});
}
void Palette::narrow(const QString& text) {
  constexpr std::size_t kShown = 200;  // rows; nobody reads more, typing narrows
  std::vector<std::pair<int, std::size_t>> hits;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const int score = fuzzy_score(text, entries_[i].text);
    if (score >= 0) hits.emplace_back(score, i);
  }
  std::stable_sort(hits.begin(), hits.end(),
                   [](const auto& l, const auto& r) { return l.first < r.first; });
  list_->clear();
  for (std::size_t k = 0; k < std::min(kShown, hits.size()); ++k) {
    const Entry& entry = entries_[hits[k].second];
    auto* item = new QListWidgetItem(
        entry.detail.isEmpty() ? entry.text : entry.text + "    " + entry.detail, list_);
    item->setData(Qt::UserRole, static_cast<qulonglong>(hits[k].second));
  }
  list_->setCurrentRow(0);
}
void Palette::run_current() {
  const QListWidgetItem* item = list_->currentItem();
  if (item == nullptr) return;
  const auto run = entries_[item->data(Qt::UserRole).toULongLong()].run;
  accept();
  run();
}
bool Palette::eventFilter(QObject* object, QEvent* event) {
  if (object == find_ && event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Down || key == Qt::Key_Up) {
      list_->setCurrentRow(
          std::clamp(list_->currentRow() + (key == Qt::Key_Down ? 1 : -1), 0, list_->count() - 1));
      return true;
    }
  }
  return QDialog::eventFilter(object, event);
}
}  // namespace stepcast::gui
