#include "gui/app/compare_panel.hpp"

#include <QHBoxLayout>
#include <QSignalBlocker>
#include <QSplitter>

#include "gui/look/text.hpp"
#include "gui/look/theme.hpp"
#include "gui/models/compare_tables.hpp"
#include "gui/models/trace_tables.hpp"

namespace stepcast::gui {
namespace {
constexpr double kAccuracyBand = 0.1;  // +-10 %: what the scatter's band shows

/// Which ranks Differences counts, where it is not all of them.
QString detail_note(const trace::CommonDetail& detail) {
  if (detail.is_counted_a.empty()) return {};
  return detail.counts_passes
             ? QString(
                   "<br>No rank is written op by op in both: Differences counts passes of the "
                   "%L1 ranks in both, with what lies inside of them")
                   .arg(detail.ranks)
             : QString("<br>Differences counts the %1 that both traces write op by op")
                   .arg(detail.ranks == 1 ? QString("one rank")
                                          : QString("%L1 ranks").arg(detail.ranks));
}
}  // namespace

ChartData waterfall_chart(const trace::Waterfall& w) {
  ChartData c;
  c.kind = ChartKind::waterfall;
  c.title = QString("From A's step (%1) to B's (%2): %3")
                .arg(time_text(w.step_a * kNsPerSecond), time_text(w.step_b * kNsPerSecond),
                     w.step_a > 0 ? signed_percent_text(w.step_b / w.step_a - 1) : QString("-"));
  c.note =
      w.counts_passes
          ? "The slowest rank's step by category and idle. One trace writes that rank's passes "
            "alone: tensor-parallel communication counts as compute in both"
          : "Times of the slowest rank's step by category and idle; they add up to the step";
  c.y = {"time of a step", AxisUnit::time_ns};
  c.empty_text = "Open a second trace as B (Ctrl+Shift+C)";
  if (w.step_a <= 0 && w.step_b <= 0) return c;
  ChartSeries s;
  c.labels.push_back("A");
  s.y.push_back(w.step_a * kNsPerSecond);
  c.bar_colours.push_back(theme().a_edge);
  for (const auto& bar : w.bars) {
    if (bar.seconds == 0) continue;
    c.labels.push_back(bar.is_idle ? QString("idle") : category_label(bar.category));
    s.y.push_back(bar.seconds * kNsPerSecond);
    c.bar_colours.push_back(QColor());
  }
  c.labels.push_back("B");
  s.y.push_back(w.step_b * kNsPerSecond);
  c.bar_colours.push_back(theme().b_edge);
  c.series.push_back(std::move(s));
  return c;
}

ChartData accuracy_chart(const trace::Accuracy& a) {
  ChartData c;
  c.kind = ChartKind::scatter;
  c.title = "Matched slices: A against B";
  c.note = "The band is +-10 %; at most 5000 pairs, evenly picked";
  c.x = {"A", AxisUnit::time_ns, true, false};
  c.y = {"B", AxisUnit::time_ns, true, false};
  c.band = kAccuracyBand;
  c.empty_text = "No matched slices";
  ChartSeries s;
  s.colour = theme().b_edge;
  for (const auto& point : a.scatter) {
    if (point.measured <= 0 || point.simulated <= 0) continue;
    s.x.push_back(static_cast<double>(point.measured) * kNsPerSecond);
    s.y.push_back(static_cast<double>(point.simulated) * kNsPerSecond);
  }
  if (!s.y.empty()) c.series.push_back(std::move(s));
  return c;
}

ComparePanel::ComparePanel(Workspace& workspace, CompareDocument& compare, QWidget* parent)
    : Panel(workspace, parent), compare_(compare) {
  head_ = add_label();
  auto* line = new QHBoxLayout;
  layout_ = new QComboBox(this);
  layout_->addItems({"Stacked", "Interleaved with delta lane"});
  alignment_ = new QComboBox(this);
  alignment_->addItems({"Absolute time", "Begins together", "First common step", "Every step",
                        "By hand"});  // in the order of trace::Alignment
  alignment_->setToolTip("How B's times are drawn on A's axis");
  scaled_ = new QCheckBox("equal width", this);
  scaled_->setToolTip("With \"every step\": B's steps are stretched to the width of A's");
  offset_ = new QDoubleSpinBox(this);
  offset_->setRange(-1e12, 1e12);
  offset_->setDecimals(3);
  offset_->setSuffix(" ms");
  offset_->setToolTip("Added to B's times; Ctrl+drag in the timeline does the same");
  line->addWidget(new QLabel("layout", this));
  line->addWidget(layout_);
  line->addWidget(new QLabel("align", this));
  line->addWidget(alignment_);
  line->addWidget(scaled_);
  line->addWidget(offset_);
  line->addStretch(1);
  column_->addLayout(line);
  tabs_ = new QTabWidget(this);
  tabs_->setDocumentMode(true);
  column_->addWidget(tabs_, 1);

  waterfall_ = new ChartView(tabs_);
  tabs_->addTab(waterfall_, "Waterfall");

  auto* delta_page = new QWidget(tabs_);
  auto* delta_column = new QVBoxLayout(delta_page);
  delta_column->setContentsMargins(0, 4, 0, 0);
  auto* delta_line = new QHBoxLayout;
  by_ = new QComboBox(this);
  by_->addItems({"by category", "by op"});
  threshold_ = new QDoubleSpinBox(this);
  threshold_->setRange(0, 100);
  threshold_->setSuffix(" %");
  threshold_->setToolTip("Relative change of the mean that counts as none");
  threshold_->setValue(compare.threshold() * 100);
  hides_ = new QCheckBox("hide unchanged", this);
  delta_line->addWidget(by_);
  delta_line->addWidget(new QLabel("no real change below", this));
  delta_line->addWidget(threshold_);
  delta_line->addWidget(hides_);
  delta_line->addStretch(1);
  delta_column->addLayout(delta_line);
  deltas_ = new TableView(delta_page);
  delta_column->addWidget(deltas_, 1);
  tabs_->addTab(delta_page, "Differences");

  auto* accuracy_page = new QWidget(tabs_);
  auto* accuracy_column = new QVBoxLayout(accuracy_page);
  accuracy_column->setContentsMargins(0, 4, 0, 0);
  auto* accuracy_line = new QHBoxLayout;
  headline_ = new QLabel(this);
  error_by_ = new QComboBox(this);
  error_by_->addItems({"by op", "by step", "by rank"});
  accuracy_line->addWidget(headline_, 1);
  accuracy_line->addWidget(error_by_);
  accuracy_column->addLayout(accuracy_line);
  auto* split = new QSplitter(Qt::Horizontal, accuracy_page);
  errors_ = new TableView(split);
  scatter_ = new ChartView(split);
  split->setSizes({480, 480});
  split->setChildrenCollapsible(false);
  accuracy_column->addWidget(split, 1);
  tabs_->addTab(accuracy_page, "Accuracy");
  worst_ = new TableView(tabs_);
  tabs_->addTab(worst_, "Worst pairs");
  unmatched_ = new TableView(tabs_);
  tabs_->addTab(unmatched_, "Unmatched");

  connect(layout_, &QComboBox::activated, this,
          [this](int index) { emit layout_chosen(index == 1); });
  connect(alignment_, &QComboBox::activated, this,
          [this](int index) { compare_.set_alignment(static_cast<trace::Alignment>(index)); });
  connect(scaled_, &QCheckBox::toggled, this, [this](bool on) { compare_.set_scaled(on); });
  connect(offset_, &QDoubleSpinBox::editingFinished, this, [this] {
    const auto ns = static_cast<Nanoseconds>(std::llround(offset_->value() * 1e6));  // shown in ms
    if (ns != compare_.offset()) compare_.set_offset(ns);
  });
  connect(threshold_, &QDoubleSpinBox::editingFinished, this, [this] {
    if (threshold_->value() / 100 != compare_.threshold())
      compare_.set_threshold(threshold_->value() / 100);
  });
  connect(by_, &QComboBox::activated, this, [this] { refresh(); });
  connect(hides_, &QCheckBox::toggled, this, [this] { refresh(); });
  connect(error_by_, &QComboBox::activated, this, [this] { refresh(); });
  connect(worst_, &TableView::row_activated, this, [this](qulonglong id) {
    emit workspace_.jump_wanted({0, static_cast<trace::SliceId>(id)});
  });
  connect(&compare, &CompareDocument::changed, this, [this] { refresh(); });
  connect(&compare, &CompareDocument::map_changed, this, [this] { refresh(); });
}

void ComparePanel::rebuild() {
  {
    const QSignalBlocker block_a(alignment_), block_o(offset_), block_s(scaled_);
    alignment_->setCurrentIndex(static_cast<int>(compare_.alignment()));
    offset_->setValue(static_cast<double>(compare_.offset()) * 1e-6);
    scaled_->setChecked(compare_.is_scaled());
    scaled_->setEnabled(compare_.alignment() == trace::Alignment::every_step);
  }
  const auto& f = compare_.facts();
  if (!compare_.is_ready()) {
    head_->setText(!workspace_.is_comparing()
                       ? "Open a second trace as B: Ctrl+Shift+C, drop it on the lower half of the "
                         "timeline, or run a scenario."
                   : compare_.is_working() ? "Matching the two traces ..."
                                           : "Waiting for both traces to be read ...");
    for (TableView* table : {deltas_, unmatched_, errors_, worst_}) table->show_table({});
    waterfall_->set_chart(waterfall_chart({}));
    scatter_->set_chart(accuracy_chart({}));
    headline_->clear();
    return;
  }
  const auto total_a = static_cast<std::int64_t>(workspace_.a.trace().slices()),
             total_b = static_cast<std::int64_t>(workspace_.b.trace().slices());
  head_->setText(
      QString("<span style='color:%1'><b>A</b> %2</span> against <span style='color:%3'><b>B</b> "
              "%4</span>: %5 pairs, %6 only in A, %7 only in B")
          .arg(theme().a_edge.name(), workspace_.a.title().toHtmlEscaped(), theme().b_edge.name(),
               workspace_.b.title().toHtmlEscaped(), count_text(f.match->pairs),
               count_text(total_a - f.match->pairs), count_text(total_b - f.match->pairs)) +
      detail_note(f.detail));
  waterfall_->set_chart(waterfall_chart(f.waterfall));
  deltas_->show_table(
      delta_table_of(by_->currentIndex() == 0 ? f.by_category : f.by_name, hides_->isChecked()));
  unmatched_->show_table(unmatched_table(workspace_.a.trace(), workspace_.b.trace(), *f.match));
  rebuild_accuracy();
}

void ComparePanel::rebuild_accuracy() {
  const trace::Accuracy& a = compare_.facts().accuracy;
  headline_->setText(
      QString("Step: <b>%1</b>&nbsp;&nbsp; matched slices: %2 mean absolute error")
          .arg(signed_percent_text(a.step_error), percent_text(a.mean_absolute_error)));
  headline_->setToolTip(
      "Step: B's mean step over A's, minus one.\nMean absolute error: |B - A| over A of matched "
      "slices, weighted by A's time.");
  const auto& rows = error_by_->currentIndex() == 0   ? a.by_name
                     : error_by_->currentIndex() == 1 ? a.by_step
                                                      : a.by_rank;
  errors_->show_table(error_table(rows, error_by_->currentIndex() == 0   ? "op"
                                        : error_by_->currentIndex() == 1 ? "step"
                                                                         : "rank"));
  worst_->show_table(worst_table(workspace_.a.trace(), workspace_.b.trace(), a));
  scatter_->set_chart(accuracy_chart(a));
}
}  // namespace stepcast::gui
