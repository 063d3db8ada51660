#include "gui/app/reports_panel.hpp"

#include <QFile>
#include <QSplitter>
#include <algorithm>
#include <cmath>

#include "gui/look/text.hpp"
#include "gui/look/theme.hpp"
#include "gui/models/trace_tables.hpp"
#include "sim/io/json.hpp"
#include "sim/report/compare/compare.hpp"

namespace stepcast::gui {
namespace {
constexpr double kLeast_s = 0.5e-9;  // half of what times are shown in: less is rounding
constexpr qint64 kSniffed =
    4096;  // bytes: a report names its kind in the first lines, a trace its first event

double number(const Json& row, const char* key) {
  return row.at(key).is_number() ? row.at(key).get<double>() : std::nan("");
}
QString label_of(const std::string& category) {
  const auto known = enum_from_text<Category>(category);
  return known ? category_label(trace::slice_category_of(*known)) : text_from(category);
}

/// Bars from A's step to B's; the steps are the sums of their parts, so that the bars meet B.
ChartData waterfall_of(const Json& comparison) {
  ChartData c;
  c.kind = ChartKind::waterfall;
  c.y = {"time of a step", AxisUnit::time_ns};
  c.empty_text = "Compare two reports: menu Compare, or drop two report.json files here";
  if (comparison.is_null()) return c;
  ChartSeries s;
  double a = 0, b = 0;
  std::vector<std::pair<std::string, double>> changes;
  for (const auto& [category, row] : comparison.at("breakdown_s").items()) {
    a += number(row, "a"), b += number(row, "b");
    if (const double change = number(row, "difference"); std::abs(change) >= kLeast_s)
      changes.emplace_back(category, change);
  }
  std::stable_sort(changes.begin(), changes.end(), [](const auto& l, const auto& r) {
    return std::abs(l.second) > std::abs(r.second);
  });
  c.title = QString("From A's step (%1) to B's (%2): %3")
                .arg(time_text(a * kNsPerSecond), time_text(b * kNsPerSecond),
                     a > 0 ? signed_percent_text(b / a - 1) : QString("-"));
  c.note = "Time of the critical rank's step by category, as the reports state it";
  c.labels.push_back("A");
  s.y.push_back(a * kNsPerSecond);
  c.bar_colours.push_back(theme().a_edge);
  for (const auto& [category, change] : changes) {
    c.labels.push_back(label_of(category));
    s.y.push_back(change * kNsPerSecond);
    c.bar_colours.push_back(QColor());
  }
  c.labels.push_back("B");
  s.y.push_back(b * kNsPerSecond);
  c.bar_colours.push_back(theme().b_edge);
  c.series.push_back(std::move(s));
  return c;
}

Table figures_of(const Json& comparison) {
  Table t;
  t.empty_text = "No reports are compared";
  t.columns = {{"figure"},
               {"A"},
               {"B"},
               {"B - A"},
               {"change", CellKind::signed_percent, "Difference over A"}};
  if (comparison.is_null()) return t;
  const auto add = [&](const QString& name, const Json& row, auto&& text, QColor swatch = {}) {
    const double a = number(row, "a"), b = number(row, "b");
    if (a == 0 && b == 0) return;
    TableRow out;
    const double relative = number(row, "relative");
    out.cells = {name, text(a), text(b), (b >= a ? "+" : "-") + text(std::abs(b - a)),
                 std::isfinite(relative) ? TableCell(relative) : TableCell("new")};
    out.swatch = swatch;
    t.rows.push_back(std::move(out));
  };
  const auto time = [](double seconds) { return time_text(seconds * kNsPerSecond); };
  const auto plain = [](double value) { return number_text(value); };
  const auto share = [](double value) { return percent_text(value, 2); };
  add("step, median", comparison.at("step_time_s"), time);
  for (const auto& [category, row] : comparison.at("breakdown_s").items()) {
    const auto known = enum_from_text<Category>(category);
    if (std::max(number(row, "a"), number(row, "b")) >= kLeast_s)
      add(label_of(category), row, time, known ? report_category_colour(*known) : QColor());
  }
  add("tokens/s", comparison.at("tokens_per_s"), plain);
  add("samples/s", comparison.at("samples_per_s"), plain);
  add("MFU", comparison.at("model_flops_utilization"), share);
  add("HFU", comparison.at("hardware_flops_utilization"), share);
  add("memory of the fullest stage", comparison.at("memory_worst_GiB"),
      [](double gib) { return bytes_text(gib * 1073741824); });
  return t;
}
}  // namespace

ReportsPanel::ReportsPanel(Workspace& workspace, QWidget* parent) : Panel(workspace, parent) {
  head_ = add_label();
  auto* split = new QSplitter(Qt::Horizontal, this);
  chart_ = new ChartView(split);
  figures_ = new TableView(split);
  split->setSizes({560, 420});
  split->setChildrenCollapsible(false);
  column_->addWidget(split, 1);
}
ReportsPanel::~ReportsPanel() = default;

bool ReportsPanel::is_report(const QString& path) {
  QFile file(path);
  if (!path.endsWith(".json") || !file.open(QIODevice::ReadOnly)) return false;
  const QByteArray head = file.read(kSniffed);
  return head.contains("\"step_time_s\"") && !head.contains("\"traceEvents\"");
}

QString ReportsPanel::compare(const QString& a, const QString& b) {
  Problems problems;
  auto left = read_json_file(a.toStdString()), right = read_json_file(b.toStdString());
  if (!left) problems.add(left.problems());
  if (!right) problems.add(right.problems());
  try {
    if (!problems.empty()) throw InputError(problems);
    comparison_ =
        std::make_unique<Json>(comparison_json(*left, *right, a.toStdString(), b.toStdString()));
  } catch (const InputError& e) {
    return QString::fromUtf8(e.what());
  }
  refresh();
  return {};
}

void ReportsPanel::rebuild() {
  const Json none;
  const Json& comparison = comparison_ ? *comparison_ : none;
  head_->setText(comparison_
                     ? QString("<span style='color:%1'><b>A</b> %2</span> against <span "
                               "style='color:%3'><b>B</b> %4</span>")
                           .arg(theme().a_edge.name(),
                                text_from(comparison.at("a").get<std::string>()).toHtmlEscaped(),
                                theme().b_edge.name(),
                                text_from(comparison.at("b").get<std::string>()).toHtmlEscaped())
                     : QString("Two report.json files without their traces: what makes B's step "
                               "longer or shorter than A's."));
  chart_->set_chart(waterfall_of(comparison));
  figures_->show_table(figures_of(comparison));
}
}  // namespace stepcast::gui
