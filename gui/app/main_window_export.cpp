#include <QBuffer>
#include <QPainter>
#include <QSvgGenerator>
#include <algorithm>

#include "gui/app/main_window.hpp"
#include "gui/look/text.hpp"
#include "gui/models/compare_tables.hpp"
#include "gui/models/trace_tables.hpp"
#include "gui/views/chart_painter.hpp"
#include "sim/core/assert.hpp"
#include "sim/io/files.hpp"
#include "sim/timeline/export/export.hpp"

/// Pictures, parts of traces, tables and the report.
namespace stepcast::gui {
namespace {
constexpr double kPictureScale = 2;  // device pixels per pixel: sharp in print
constexpr std::size_t kReportRows = 25;

QString data_url(const QImage& image) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  image.save(&buffer, "PNG");
  return "data:image/png;base64," + bytes.toBase64();
}

QString html_of(const Table& table) {
  if (table.rows.empty()) return "<p class='note'>" + table.empty_text.toHtmlEscaped() + "</p>";
  QString out = "<table><tr>";
  for (const TableColumn& c : table.columns)
    out += QString("<th class='%1'>%2</th>")
               .arg(c.kind == CellKind::text ? "" : "n", c.title.toHtmlEscaped());
  out += "</tr>";
  for (std::size_t r = 0; r < std::min(kReportRows, table.rows.size()); ++r) {
    out += "<tr>";
    for (std::size_t c = 0; c < table.columns.size() && c < table.rows[r].cells.size(); ++c) {
      const QString swatch =
          c == 0 && table.rows[r].swatch.isValid()
              ? "<span class='s' style='background:" + table.rows[r].swatch.name() + "'></span>"
              : QString();
      out += QString("<td class='%1'>%2%3</td>")
                 .arg(table.columns[c].kind == CellKind::text ? "" : "n", swatch,
                      cell_text(table.rows[r].cells[c], table.columns[c].kind).toHtmlEscaped());
    }
    out += "</tr>";
  }
  out += "</table>";
  if (table.rows.size() > kReportRows)
    out += QString("<p class='note'>%1 of %2 rows</p>").arg(kReportRows).arg(table.rows.size());
  return out;
}
QImage chart_image(const ChartData& chart, const QSize& size) {
  QImage image(size * kPictureScale, QImage::Format_RGB32);
  image.setDevicePixelRatio(kPictureScale);
  QPainter painter(&image);
  paint_chart(painter, chart, QRectF(QPointF(0, 0), size));
  return image;
}
}  // namespace

QString MainWindow::export_picture(const QString& path) {
  const QSize over(timeline_a_->width(), overview_a_->height()),
      line(timeline_a_->width(), timeline_a_->viewport()->height());
  const bool has_b = timeline_b_->isVisible();
  const QSize line_b = has_b ? QSize(line.width(), timeline_b_->viewport()->height()) : QSize(0, 0);
  const QSize all(line.width(), over.height() + line.height() + line_b.height());
  const auto draw = [&](QPainter& p) {
    overview_a_->render_into(p, over, kPictureScale);
    p.translate(0, over.height());
    timeline_a_->render_into(p, line);
    if (!has_b) return;
    p.translate(0, line.height());
    timeline_b_->render_into(p, line_b);
  };
  if (path.endsWith(".svg", Qt::CaseInsensitive)) {
    QBuffer buffer;
    QSvgGenerator svg;
    svg.setOutputDevice(&buffer);
    svg.setSize(all);
    svg.setViewBox(QRect(QPoint(0, 0), all));
    svg.setTitle(workspace_.a.title());
    QPainter painter(&svg);
    draw(painter);
    painter.end();
    try {
      write_file(path.toStdString(), buffer.data().toStdString());
    } catch (const EnvironmentError& e) {
      return QString::fromUtf8(e.what());
    }
    return {};
  }
  QImage image(all * kPictureScale, QImage::Format_RGB32);
  image.setDevicePixelRatio(kPictureScale);
  image.fill(theme().base);
  QPainter painter(&image);
  draw(painter);
  painter.end();
  return image.save(path) ? QString()
                          : path + " cannot be written; the name must end in .png or .svg";
}

QString MainWindow::export_trimmed_trace(const QString& path) {
  if (!workspace_.a.is_open()) return "No trace is open";
  trace::Area area = workspace_.area();
  if (!workspace_.has_area()) area = {timeline_a_->view().start, timeline_a_->view().end, {}};
  try {
    const auto filter = workspace_.filter(0);
    const std::int64_t written =
        trace::export_trimmed(workspace_.a.trace(), area, path.toStdString(), filter.get());
    return written > 0 ? QString() : "No slice lies in that part; nothing was written";
  } catch (const std::exception& e) {
    return QString::fromUtf8(e.what());
  }
}

QString MainWindow::export_slices(const QString& path) {
  if (!workspace_.a.is_open()) return "No trace is open";
  const trace::TraceStore& store = workspace_.a.trace();
  const trace::Area area = workspace_.area_or_all();
  const auto filter = workspace_.filter(0);
  std::vector<trace::SliceId> slices;
  for (trace::LaneId lane = 0; lane < store.lanes().size(); ++lane) {
    if (!area.lanes.empty() &&
        std::find(area.lanes.begin(), area.lanes.end(), lane) == area.lanes.end())
      continue;
    for (trace::SliceId s = store.first_ending_after(lane, area.begin);
         s < store.first_starting_at(lane, area.end); ++s)
      if (!filter || filter->matches(s)) slices.push_back(s);
  }
  if (slices.empty()) return "No slice lies in that part; nothing was written";
  try {
    trace::export_slices_csv(store, slices, path.toStdString());
  } catch (const std::exception& e) {
    return QString::fromUtf8(e.what());
  }
  return {};
}

QString MainWindow::export_report(const QString& path) {
  if (!workspace_.a.is_open()) return "No trace is open";
  const TraceFacts& f = workspace_.a.facts();
  const Theme& t = theme();
  QString html =
      QString(
          "<!doctype html><html><head><meta charset='utf-8'><title>%1</title><style>body{font:14px "
          "sans-serif;margin:2em;background:%2;color:%3;max-width:1500px}"
          "table{border-collapse:collapse;margin:.5em 0 1.5em}th,td{padding:3px "
          "10px;border-bottom:1px solid "
          "%4;text-align:left}.n{text-align:right;font-variant-numeric:tabular-nums}"
          "img{max-width:100%;border:1px solid "
          "%4}.note{color:%5}.s{display:inline-block;width:11px;height:11px;margin-right:6px}</"
          "style></head><body>")
          .arg(workspace_.a.title().toHtmlEscaped(), t.window.name(), t.text.name(),
               t.border.name(), t.dim_text.name());
  html += "<h1>" + workspace_.a.title().toHtmlEscaped() + "</h1>";
  html += QString("<p>%1 slices on %2 ranks over %3; %4 events lost in reading.</p>")
              .arg(count_text(static_cast<std::int64_t>(f.trace->slices())),
                   count_text(static_cast<std::int64_t>(f.trace->ranks().size())),
                   time_text(static_cast<double>(f.trace->end() - f.trace->begin())),
                   count_text(workspace_.a.report().lost));
  const QSize wide(1400, 220);
  QImage over(wide * kPictureScale, QImage::Format_RGB32);
  over.setDevicePixelRatio(kPictureScale);
  {
    QPainter painter(&over);
    overview_a_->render_into(painter, wide, kPictureScale);
  }
  html += "<h2>All ranks</h2><img alt='overview' src='" + data_url(over) + "'>";
  html += "<h2>Timeline: " + time_text(static_cast<double>(timeline_a_->view().length())) +
          "</h2><img alt='timeline' src='" +
          data_url(timeline_a_->rendered({1400, 600}, kPictureScale)) + "'>";
  if (f.critical) html += "<h2>Critical path</h2>" + html_of(critical_share_table(*f.critical));
  if (f.ranks) {
    Table ranks = rank_table(*f.trace, *f.ranks);
    std::stable_sort(
        ranks.rows.begin(), ranks.rows.end(),
        [](const TableRow& l, const TableRow& r) { return l.cells[2].value > r.cells[2].value; });
    html += "<h2>Ranks, slowest first</h2>" + html_of(ranks);
  }
  if (f.ops) html += "<h2>Ops</h2>" + html_of(op_table(*f.trace, *f.ops));
  if (f.runs)
    html += "<h2>Collectives</h2>" +
            html_of(collective_totals_table(*f.trace, trace::collective_totals(*f.trace, *f.runs)));
  if (compare_->is_ready()) {
    const auto& c = compare_->facts();
    html += "<h2>Against " + workspace_.b.title().toHtmlEscaped() +
            "</h2><img alt='waterfall' src='" +
            data_url(chart_image(waterfall_chart(c.waterfall), {1100, 420})) + "'>";
    html +=
        html_of(delta_table_of(c.by_category, false)) + html_of(delta_table_of(c.by_name, true));
    html += "<h3>Unmatched</h3>" +
            html_of(unmatched_table(workspace_.a.trace(), workspace_.b.trace(), *c.match));
  }
  if (!workspace_.notes.empty()) {
    html += "<h2>Notes</h2><ul>";
    for (const auto& n : workspace_.notes)
      html += "<li>" + time_text(static_cast<double>(n.begin)) + ": " +
              QString::fromStdString(n.text).toHtmlEscaped() + "</li>";
    html += "</ul>";
  }
  html += "<h2>Import</h2>" + html_of(import_counts_table(workspace_.a.report())) +
          html_of(import_anomaly_table(workspace_.a.report())) + "</body></html>";
  try {
    write_file(path.toStdString(), html.toStdString());
  } catch (const EnvironmentError& e) {
    return QString::fromUtf8(e.what());
  }
  return {};
}
}  // namespace stepcast::gui
