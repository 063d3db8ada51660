#include "gui/views/table_view.hpp"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QFileDialog>
#include <QHeaderView>
#include <QMenu>
#include <QMessageBox>
#include <QPainter>
#include <algorithm>

#include "gui/look/theme.hpp"
#include "sim/core/assert.hpp"
#include "sim/io/files.hpp"

namespace stepcast::gui {
namespace {
constexpr int kRowsMeasured =
    60;  // rows looked at for a column's width: enough for what is on screen
constexpr int kWidestColumn = 380;  // pixels
}  // namespace

void BarDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                        const QModelIndex& index) const {
  const QVariant share = index.data(TableModel::kBarRole);
  QStyleOptionViewItem plain = option;
  initStyleOption(&plain, index);
  if (share.isValid() && !(option.state & QStyle::State_Selected)) {
    QColor colour = index.siblingAtColumn(0).data(TableModel::kSwatchRole).value<QColor>();
    if (!colour.isValid()) colour = theme().a_edge;
    colour.setAlpha(90);
    const int width = static_cast<int>(std::abs(share.toDouble()) * option.rect.width());
    painter->fillRect(QRect(option.rect.right() - width + 1, option.rect.top() + 2, width,
                            option.rect.height() - 4),
                      colour);
  }
  QStyledItemDelegate::paint(painter, option, index);
}

TableView::TableView(QWidget* parent) : QTableView(parent), model_(new TableModel(this)) {
  setModel(model_);
  setItemDelegate(new BarDelegate(this));
  setSelectionBehavior(QAbstractItemView::SelectRows);
  setSelectionMode(QAbstractItemView::ExtendedSelection);
  setEditTriggers(QAbstractItemView::NoEditTriggers);
  setAlternatingRowColors(true);
  setShowGrid(false);
  setWordWrap(false);
  setSortingEnabled(true);
  horizontalHeader()->setSortIndicator(-1, Qt::DescendingOrder);
  horizontalHeader()->setSortIndicatorClearable(true);
  horizontalHeader()->setStretchLastSection(false);
  horizontalHeader()->setHighlightSections(false);
  verticalHeader()->hide();
  verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
  setFont(figure_font());
  connect(selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& now) {
            if (now.isValid()) emit row_chosen(now.data(TableModel::kIdRole).toULongLong());
          });
  connect(this, &QTableView::activated, this, [this](const QModelIndex& now) {
    emit row_activated(now.data(TableModel::kIdRole).toULongLong());
  });
}

void TableView::show_table(Table table) {
  const bool is_same_shape = table.columns.size() == model_->table().columns.size();
  model_->set_table(std::move(table));
  if (!is_same_shape || model_->rowCount() > 0) fit_columns();
}

void TableView::fit_columns() {
  const QFontMetrics metrics(font());
  for (int c = 0; c < model_->columnCount(); ++c) {
    int width = metrics.horizontalAdvance(model_->headerData(c, Qt::Horizontal).toString()) + 30;
    for (int r = 0; r < std::min(kRowsMeasured, model_->rowCount()); ++r) {
      const QModelIndex cell = model_->index(r, c);
      width = std::max(width, metrics.horizontalAdvance(cell.data().toString()) +
                                  (cell.data(Qt::DecorationRole).isValid() ? 36 : 16));
    }
    setColumnWidth(c, std::min(width, kWidestColumn));
  }
}

QString TableView::copied_text() const {
  QModelIndexList rows = selectionModel()->selectedRows();
  std::sort(rows.begin(), rows.end());
  std::vector<int> lines;
  for (const QModelIndex& i : rows) lines.push_back(i.row());
  if (lines.empty())
    for (int r = 0; r < model_->rowCount(); ++r) lines.push_back(r);
  QStringList out, head;
  for (int c = 0; c < model_->columnCount(); ++c)
    head << model_->headerData(c, Qt::Horizontal).toString();
  out << head.join('\t');
  for (const int r : lines) {
    QStringList cells;
    for (int c = 0; c < model_->columnCount(); ++c) cells << model_->index(r, c).data().toString();
    out << cells.join('\t');
  }
  return out.join('\n') + '\n';
}

QString TableView::export_csv(QString path) {
  if (path.isEmpty())
    path = QFileDialog::getSaveFileName(this, "Save table", "table.csv", "CSV (*.csv)");
  if (path.isEmpty()) return {};
  try {
    write_file(path.toStdString(), model_->csv().toStdString());
  } catch (const EnvironmentError& e) {
    return QString::fromUtf8(e.what());
  }
  return {};
}

void TableView::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Copy)) {
    QApplication::clipboard()->setText(copied_text());
    event->accept();
    return;
  }
  QTableView::keyPressEvent(event);
}

void TableView::contextMenuEvent(QContextMenuEvent* event) {
  QMenu menu(this);
  menu.addAction("Copy rows", this, [this] { QApplication::clipboard()->setText(copied_text()); });
  menu.addAction("Save table as CSV...", this, [this] {
    const QString problem = export_csv();
    if (!problem.isEmpty()) QMessageBox::warning(this, "Not saved", problem);
  });
  menu.exec(event->globalPos());
}

void TableView::paintEvent(QPaintEvent* event) {
  QTableView::paintEvent(event);
  if (model_->rowCount() > 0) return;
  QPainter painter(viewport());
  painter.setPen(theme().dim_text);
  painter.drawText(viewport()->rect().adjusted(12, 12, -12, -12),
                   Qt::AlignCenter | Qt::TextWordWrap, model_->table().empty_text);
}
}  // namespace stepcast::gui
