#include <QHBoxLayout>

#include "gui/app/detail_panels.hpp"
#include "gui/look/text.hpp"
#include "gui/models/trace_tables.hpp"

namespace stepcast::gui {
namespace {
constexpr std::size_t kLongestListed = 2000;  // rows of the slice list: the longest of the area
struct Key {
  const char* label;
  trace::GroupBy by;
};
constexpr Key kKeys[]{{"category", trace::GroupBy::category}, {"op", trace::GroupBy::name},
                      {"rank", trace::GroupBy::rank},         {"stream", trace::GroupBy::stream},
                      {"node", trace::GroupBy::node},         {"track", trace::GroupBy::track}};
}  // namespace

AreaPanel::AreaPanel(Workspace& workspace, QWidget* parent) : Panel(workspace, parent) {
  auto* line = new QHBoxLayout;
  head_ = new QLabel(this);
  first_ = new QComboBox(this);
  second_ = new QComboBox(this);
  second_->addItem("(nothing more)");
  for (const Key& key : kKeys) {
    first_->addItem(key.label);
    second_->addItem(key.label);
  }
  line->addWidget(head_, 1);
  line->addWidget(new QLabel("sum by", this));
  line->addWidget(first_);
  line->addWidget(new QLabel("and", this));
  line->addWidget(second_);
  column_->addLayout(line);
  tabs_ = new QTabWidget(this);
  sums_ = new TableView(tabs_);
  slices_ = new TableView(tabs_);
  tabs_->addTab(sums_, "Sums");
  tabs_->addTab(slices_, "Longest slices");
  tabs_->setDocumentMode(true);
  column_->addWidget(tabs_, 1);
  for (QComboBox* box : {first_, second_})
    connect(box, &QComboBox::activated, this, [this] { refresh(); });
  connect(tabs_, &QTabWidget::currentChanged, this, [this] { refresh(); });
  connect(&workspace, &Workspace::area_changed, this, [this] { refresh(); });
  connect(&workspace, &Workspace::filter_changed, this, [this] { refresh(); });
  connect(&workspace.a, &TraceDocument::trace_changed, this, [this] { refresh(); });
  connect(slices_, &TableView::row_activated, this, [this](qulonglong id) {
    emit workspace_.jump_wanted({0, static_cast<trace::SliceId>(id)});
  });
  connect(slices_, &TableView::row_chosen, this, [this](qulonglong id) {
    workspace_.select({0, static_cast<trace::SliceId>(id)});
  });
}

void AreaPanel::rebuild() {
  if (!workspace_.a.is_open()) {
    head_->setText("No trace is open");
    sums_->show_table(pivot_table({}, "category", "", 0));
    return;
  }
  const trace::Area area = workspace_.area_or_all();
  const auto window = static_cast<double>(area.end - area.begin);
  head_->setText((workspace_.has_area()
                      ? QString("Marked: %1 on %2")
                            .arg(time_text(window),
                                 area.lanes.empty() ? QString("all rows")
                                                    : QString("%1 lanes").arg(area.lanes.size()))
                      : QString("Nothing marked: the whole trace, %1").arg(time_text(window))) +
                 (workspace_.filter_text().isEmpty() ? QString() : QString(", filtered")));
  const Key& first = kKeys[first_->currentIndex()];
  std::optional<trace::GroupBy> second;
  QString second_label;
  if (second_->currentIndex() > 0 && second_->currentIndex() - 1 != first_->currentIndex()) {
    second = kKeys[second_->currentIndex() - 1].by;
    second_label = kKeys[second_->currentIndex() - 1].label;
  }
  const auto filter = workspace_.filter(0);
  summing_.start(
      [trace = workspace_.a.facts().trace, area, by = first.by, second,
       filter](std::stop_token stop) {
        return trace::pivot(*trace, area, by, second, filter.get(), stop);
      },
      [this, label = QString(first.label), second_label, window](trace::Pivot pivot) {
        sums_->show_table(pivot_table(pivot, label, second_label, window));
      });
  if (tabs_->currentIndex() == 1) show_slices();
}

void AreaPanel::show_slices() {
  const trace::TracePtr trace = workspace_.a.facts().trace;
  listing_.start(
      [trace, area = workspace_.area_or_all(), filter = workspace_.filter(0)](std::stop_token) {
        return trace::longest_slices(*trace, area, kLongestListed, filter.get());
      },
      [this, trace](std::vector<trace::SliceId> slices) {
        slices_->show_table(slice_table(*trace, slices, "No slice matches here"));
        if (slices.size() == kLongestListed)
          emit workspace_.status(QString("the %L1 longest slices are listed").arg(kLongestListed));
      });
}
}  // namespace stepcast::gui
