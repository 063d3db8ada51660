#include <algorithm>
#include <cmath>
#include <map>

#include "gui/app/what_if_panel.hpp"
#include "gui/look/text.hpp"
#include "gui/look/theme.hpp"
#include "gui/models/trace_tables.hpp"
#include "sim/io/csv.hpp"

/// Tables and charts of simulated scenarios.
namespace stepcast::gui {
namespace {
constexpr double kGiB = 1073741824;  // bytes

struct Figure {
  const char* column;
  const char* label;
  AxisUnit unit;
  double scale;
};
/// Columns as `stepcast sweep` names them.
constexpr Figure kFigures[]{
    {"tokens_per_s", "tokens per second", AxisUnit::number, 1},
    {"samples_per_s", "samples per second", AxisUnit::number, 1},
    {"step_time_s", "step time", AxisUnit::time_ns, kNsPerSecond},
    {"model_flops_utilization", "MFU", AxisUnit::percent, 1},
    {"hardware_flops_utilization", "HFU", AxisUnit::percent, 1},
    {"memory_worst_GiB", "memory of the fullest stage", AxisUnit::bytes, kGiB},
    {"usd_per_step", "USD per step", AxisUnit::number, 1},
    {"compute_s", "compute", AxisUnit::time_ns, kNsPerSecond},
    {"exposed_tp_s", "exposed TP", AxisUnit::time_ns, kNsPerSecond},
    {"exposed_pp_s", "exposed PP", AxisUnit::time_ns, kNsPerSecond},
    {"exposed_dp_s", "exposed DP", AxisUnit::time_ns, kNsPerSecond},
    {"exposed_ep_s", "exposed EP", AxisUnit::time_ns, kNsPerSecond},
    {"bubble_s", "bubble", AxisUnit::time_ns, kNsPerSecond},
    {"straggler_wait_s", "straggler wait", AxisUnit::time_ns, kNsPerSecond},
    {"compression_s", "compression", AxisUnit::time_ns, kNsPerSecond}};
Figure figure_of(const std::string& column) {
  for (const Figure& f : kFigures)
    if (column == f.column) return f;
  return {column.c_str(), column.c_str(), AxisUnit::number, 1};
}
/// The varied pointers are the columns that begin with '/'.
std::vector<std::string> axes_of(const CsvTable& table) {
  std::vector<std::string> axes;
  for (const std::string& column : table.header())
    if (column.starts_with('/')) axes.push_back(column);
  return axes;
}
std::optional<double> numeric(const std::string& text) {
  bool is_number = false;
  const double value = QString::fromStdString(text).toDouble(&is_number);
  return is_number ? std::optional(value) : std::nullopt;
}
std::vector<std::string> distinct(const CsvTable& table, const std::string& column) {
  std::vector<std::string> values;
  for (std::size_t r = 0; r < table.rows(); ++r)
    if (std::find(values.begin(), values.end(), table.text(r, column)) == values.end())
      values.push_back(table.text(r, column));
  return values;
}
double exposed_of(const SimulationRun& run) {
  double sum = 0;
  for (const auto& [key, value] : run.figures)
    if (key.startsWith("breakdown_s.exposed_")) sum += value;
  return sum;
}
}  // namespace

QStringList sweep_figures(const QString& path) {
  const auto table = CsvTable::read(path.toStdString());
  QStringList out;
  if (!table) return out;
  for (const Figure& f : kFigures)
    for (std::size_t r = 0; r < table->rows(); ++r)
      if (const auto value = table->number(r, f.column); value && *value != 0) {
        out << f.column;
        break;
      }
  return out;
}

ChartData sweep_chart(const QString& path, const QString& column, bool is_heat) {
  ChartData c;
  c.empty_text = "No point of the sweep is finished yet";
  const auto table = CsvTable::read(path.toStdString());
  if (!table || table->rows() == 0) return c;
  const std::vector<std::string> axes = axes_of(*table);
  if (axes.empty()) return c;
  const std::string name = column.toStdString();
  const Figure figure = figure_of(name);
  const std::vector<std::string> x_values = distinct(*table, axes[0]);
  const bool is_numeric = std::all_of(x_values.begin(), x_values.end(),
                                      [](const std::string& v) { return numeric(v).has_value(); });
  int refused = 0;
  for (std::size_t r = 0; r < table->rows(); ++r) refused += table->text(r, "status") != "ok";
  c.title = QString("%1 over %2").arg(figure.label, text_from(axes[0]));
  c.note = QString("%1 points%2")
               .arg(table->rows())
               .arg(refused > 0 ? QString(", %1 refused (hatched or left out)").arg(refused)
                                : QString());
  c.y = {figure.label, figure.unit};
  c.x.title = text_from(axes[0]);
  // One line (row of the heat map) per combination of the other axes.
  std::map<std::string, std::vector<std::pair<std::string, double>>> lines;
  std::vector<std::string> order;
  for (std::size_t r = 0; r < table->rows(); ++r) {
    std::string key;
    for (std::size_t a = 1; a < axes.size(); ++a)
      key += (key.empty() ? "" : ", ") + axes[a].substr(axes[a].rfind('/') + 1) + " " +
             table->text(r, axes[a]);
    if (!lines.contains(key)) order.push_back(key);
    const auto value = table->text(r, "status") == "ok" ? table->number(r, name) : std::nullopt;
    lines[key].emplace_back(table->text(r, axes[0]), value ? *value * figure.scale : std::nan(""));
  }
  if (is_heat || (!is_numeric && axes.size() > 1)) {
    c.kind = ChartKind::heat;
    c.y.from_zero = false;
    for (const std::string& v : x_values) c.labels.push_back(text_from(v));
    for (const std::string& key : order) {
      ChartSeries s;
      s.y.assign(x_values.size(), std::nan(""));
      for (const auto& [x, y] : lines[key])
        s.y[static_cast<std::size_t>(std::find(x_values.begin(), x_values.end(), x) -
                                     x_values.begin())] = y;
      c.series.push_back(std::move(s));
      c.row_labels.push_back(key.empty() ? QString(figure.label) : text_from(key));
    }
    return c;
  }
  if (!is_numeric) {
    c.kind = ChartKind::bar;
    ChartSeries s{QString(figure.label), theme().b_edge};
    for (const auto& [x, y] : lines[order.front()]) {
      c.labels.push_back(text_from(x));
      s.y.push_back(y);
    }
    c.series.push_back(std::move(s));
    return c;
  }
  c.kind = ChartKind::line;
  static constexpr SliceCategory kHues[]{SliceCategory::compute,        SliceCategory::overlapped,
                                         SliceCategory::exposed_tp,     SliceCategory::checkpoint,
                                         SliceCategory::straggler_wait, SliceCategory::data,
                                         SliceCategory::exposed_ep,     SliceCategory::launch_gap};
  for (std::size_t i = 0; i < order.size(); ++i) {
    ChartSeries s{order[i].empty() ? QString("simulated") : text_from(order[i]),
                  theme().of(kHues[i % std::size(kHues)])};
    std::sort(lines[order[i]].begin(), lines[order[i]].end(),
              [](const auto& l, const auto& r) { return *numeric(l.first) < *numeric(r.first); });
    for (const auto& [x, y] : lines[order[i]]) {
      s.x.push_back(*numeric(x));
      s.y.push_back(y);
    }
    c.series.push_back(std::move(s));
  }
  double low = 1e300, high = 0;
  for (const ChartSeries& s : c.series)
    for (const double x : s.x) {
      low = std::min(low, x);
      high = std::max(high, x);
    }
  // More than a decade and a half of x reads better in powers.
  c.x.is_log = low > 0 && high / low > 30;
  c.x.from_zero = false;
  // Over nodes throughput is compared with the linear continuation of its first point.
  if (axes[0] == "/cluster/nodes" && (name == "tokens_per_s" || name == "samples_per_s") &&
      !c.series[0].x.empty() && std::isfinite(c.series[0].y[0])) {
    ChartSeries linear{"linear from the first point", theme().dim_text};
    linear.is_dashed = linear.is_reference = true;
    for (const double x : c.series[0].x) {
      linear.x.push_back(x);
      linear.y.push_back(c.series[0].y[0] * x / c.series[0].x[0]);
    }
    const auto last = c.series[0].y.size() - 1;
    if (std::isfinite(c.series[0].y[last]))
      c.note += QString("; %1 of linear at %2 nodes")
                    .arg(percent_text(c.series[0].y[last] / linear.y[last]),
                         number_text(c.series[0].x[last]));
    c.series.push_back(std::move(linear));
    c.y.is_log = c.x.is_log;
  }
  return c;
}

ChartData breakdown_chart(const std::vector<SimulationRun>& runs) {
  ChartData c;
  c.kind = ChartKind::stacked_bar;
  c.title = "What fills the step of the critical rank";
  c.y = {"step time", AxisUnit::time_ns};
  c.empty_text = "Finished scenarios are drawn here";
  for (int i = 0; i < kCategories; ++i) {
    const auto category = static_cast<Category>(i);
    ChartSeries s{category_label(trace::slice_category_of(category)),
                  report_category_colour(category)};
    bool is_used = false;
    for (const SimulationRun& run : runs) {
      if (run.is_sweep || run.state != RunState::done) continue;
      const auto it = run.figures.find("breakdown_s." + text_from(text_of(category)));
      s.y.push_back(it == run.figures.end() ? 0 : it->second * kNsPerSecond);
      is_used = is_used || s.y.back() > 0;
    }
    if (is_used) c.series.push_back(std::move(s));
  }
  for (const SimulationRun& run : runs)
    if (!run.is_sweep && run.state == RunState::done)
      c.labels.push_back(QString("%1  %2").arg(run.id).arg(run.label));
  return c;
}

Table results_table(const std::vector<SimulationRun>& runs, int base_id) {
  Table t;
  t.empty_text =
      "Change a value above and press Run.\nThe unchanged scenario is simulated first, as the "
      "base.";
  t.columns = {{"run"},
               {"what"},
               {"state"},
               {"step", CellKind::time, "Median", true},
               {"vs base", CellKind::signed_percent, "Step time against the base"},
               {"90 % interval"},
               {"tokens/s", CellKind::number},
               {"MFU", CellKind::percent},
               {"exposed comm", CellKind::time},
               {"bubble", CellKind::time},
               {"straggler wait", CellKind::time},
               {"memory", CellKind::bytes, "Fullest stage"},
               {"USD per step", CellKind::number},
               {"GPUs", CellKind::count},
               {"simulated in", CellKind::time}};
  const SimulationRun* base = nullptr;
  for (const SimulationRun& run : runs)
    if (run.id == base_id && run.state == RunState::done) base = &run;
  const auto figure = [](const SimulationRun& run, const QString& key, double scale) {
    const auto it = run.figures.find(key);
    return it == run.figures.end() ? TableCell("") : TableCell(it->second * scale);
  };
  for (const SimulationRun& run : runs) {
    static constexpr const char* kStates[]{"queued", "running", "done", "failed", "stopped"};
    TableRow row;
    row.id = static_cast<std::uint64_t>(run.id);
    const auto step = run.figures.find("step_time_s.p50");
    TableCell change("");
    if (base != nullptr && step != run.figures.end() && run.id != base_id)
      change = TableCell(step->second / base->figures.at("step_time_s.p50") - 1);
    const QString interval = step == run.figures.end()
                                 ? QString()
                                 : time_text(run.figures.at("step_time_s.p05") * kNsPerSecond) +
                                       " to " +
                                       time_text(run.figures.at("step_time_s.p95") * kNsPerSecond);
    const bool has_figures = step != run.figures.end();
    row.cells = {QString::number(run.id),
                 (run.is_sweep ? "sweep: " + run.vary.join("  ") : run.label) +
                     (run.id == base_id ? "  (base)" : ""),
                 kStates[static_cast<int>(run.state)],
                 figure(run, "step_time_s.p50", kNsPerSecond),
                 change,
                 interval,
                 figure(run, "tokens_per_s", 1),
                 figure(run, "model_flops_utilization", 1),
                 has_figures ? TableCell(exposed_of(run) * kNsPerSecond) : TableCell(""),
                 figure(run, "breakdown_s.bubble", kNsPerSecond),
                 figure(run, "breakdown_s.straggler_wait", kNsPerSecond),
                 figure(run, "memory_GiB.worst", kGiB),
                 figure(run, "usd_per_step", 1),
                 figure(run, "gpus", 1),
                 run.seconds > 0 ? TableCell(run.seconds * kNsPerSecond) : TableCell("")};
    row.tip = run.scenario + "\n" + run.settings.join('\n') +
              (run.message.isEmpty() ? "" : "\n\n" + run.message);
    if (run.state == RunState::failed) row.ink = theme().error;
    if (run.id == base_id) row.swatch = theme().a_edge;
    t.rows.push_back(std::move(row));
  }
  return t;
}
}  // namespace stepcast::gui
