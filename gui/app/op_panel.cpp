#include <QSplitter>

#include "gui/app/detail_panels.hpp"
#include "gui/look/text.hpp"
#include "gui/look/theme.hpp"
#include "gui/models/trace_tables.hpp"

namespace stepcast::gui {
OpPanel::OpPanel(Workspace& workspace, QWidget* parent) : Panel(workspace, parent) {
  head_ = add_label();
  find_ = new QLineEdit(this);
  find_->setPlaceholderText("Find an op");
  find_->setClearButtonEnabled(true);
  column_->addWidget(find_);
  auto* split = new QSplitter(Qt::Horizontal, this);
  ops_ = new TableView(split);
  chart_ = new ChartView(split);
  split->setStretchFactor(0, 3);
  split->setStretchFactor(1, 2);
  split->setSizes({600, 400});
  split->setChildrenCollapsible(false);
  column_->addWidget(split, 1);
  connect(find_, &QLineEdit::textChanged, this,
          [this](const QString& text) { ops_->table_model().set_filter(text); });
  connect(ops_, &TableView::row_chosen, this,
          [this](qulonglong id) { choose(static_cast<trace::OpId>(id)); });
  connect(ops_, &TableView::row_activated, this, [this](qulonglong id) {
    for (const auto& op :
         workspace_.a.facts().ops ? *workspace_.a.facts().ops : std::vector<trace::OpStatistics>{})
      if (op.op == id) emit workspace_.jump_wanted({0, op.longest});
  });
  connect(chart_, &ChartView::range_marked, this, [this](double low, double high) {
    if (chosen_ == trace::kNoId || !workspace_.a.is_open()) return;
    const trace::TraceStore& store = workspace_.a.trace();
    QString name = text_from(store.text(store.ops()[chosen_].name));
    name.replace('\\', "\\\\").replace('"', "\\\"");
    if (high <= low)
      emit filter_wanted("");
    else
      emit filter_wanted(QString("name = \"%1\" and dur >= %2ns and dur <= %3ns")
                             .arg(name)
                             .arg(static_cast<qlonglong>(low))
                             .arg(static_cast<qlonglong>(high)));
  });
  connect(&workspace, &Workspace::area_changed, this, [this] { refresh(); });
  connect(&workspace.a, &TraceDocument::trace_changed, this, [this] {
    chosen_ = trace::kNoId;
    refresh();
  });
  connect(&workspace.a, &TraceDocument::finished, this, [this] { refresh(); });
}

void OpPanel::rebuild() {
  if (!workspace_.a.is_open()) {
    head_->setText("No trace is open");
    ops_->show_table({});
    chart_->set_chart({});
    return;
  }
  const trace::TracePtr trace = workspace_.a.facts().trace;
  head_->setText(workspace_.has_area() ? "Ops that start in the marked area"
                                       : "Ops of the whole trace; mark an area for a part. Drag "
                                         "over the histogram to filter the timeline.");
  const auto show = [this, trace](const std::vector<trace::OpStatistics>& ops) {
    ops_->show_table(op_table(*trace, ops));
    ops_->table_model().set_filter(find_->text());
    if (chosen_ == trace::kNoId && !ops.empty())
      choose(ops.front().op);
    else if (chosen_ != trace::kNoId)
      choose(chosen_);
  };
  if (!workspace_.has_area() && workspace_.a.facts().ops) {
    show(*workspace_.a.facts().ops);
    return;
  }
  working_.start(
      [trace, area = workspace_.area_or_all()](std::stop_token stop) {
        return trace::op_statistics(*trace, area, nullptr, stop);
      },
      show);
}

void OpPanel::choose(trace::OpId op) {
  chosen_ = op;
  const trace::TracePtr trace = workspace_.a.facts().trace;
  if (!trace || op >= trace->ops().size()) return;
  counting_.start([trace, op, area = workspace_.area_or_all()](
                      std::stop_token) { return trace::op_histogram(*trace, op, area); },
                  [this, trace, op](trace::Histogram h) {
                    ChartData c;
                    c.kind = ChartKind::histogram;
                    c.title = text_from(trace->text(trace->ops()[op].name));
                    c.x = {"duration", AxisUnit::time_ns, true, false};
                    c.y = {"slices", AxisUnit::number};
                    for (const Nanoseconds edge : h.edges)
                      c.edges.push_back(static_cast<double>(std::max<Nanoseconds>(1, edge)));
                    ChartSeries s;
                    s.colour = theme().of(trace->ops()[op].shown);
                    for (const std::int64_t n : h.counts) s.y.push_back(static_cast<double>(n));
                    if (h.total > 0) c.series.push_back(std::move(s));
                    c.empty_text = "No slice of this op starts here";
                    chart_->set_chart(std::move(c));
                  });
}
}  // namespace stepcast::gui
