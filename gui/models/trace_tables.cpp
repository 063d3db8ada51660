#include "gui/models/trace_tables.hpp"

#include <algorithm>
#include <cmath>

#include "gui/look/text.hpp"
#include "gui/look/theme.hpp"

namespace stepcast::gui {
namespace {
QString rank_label(const trace::TraceStore& store, trace::RankId rank) {
  return rank < store.ranks().size() ? text_from(store.ranks()[rank].label) : QString("?");
}
}  // namespace

QString text_from(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

QString place_of(const trace::TraceStore& store, trace::SliceId slice) {
  const trace::TrackInfo& track = store.tracks()[store.track_of(slice)];
  return rank_label(store, track.rank) + " / " + text_from(track.label);
}

Table op_table(const trace::TraceStore& store, const std::vector<trace::OpStatistics>& ops) {
  Table t;
  t.empty_text = "No slice starts in this part of the trace";
  t.columns = {
      {"op"},
      {"category"},
      {"source", CellKind::text, "The category the file itself gives"},
      {"count", CellKind::count},
      {"total", CellKind::time, "Sum of all durations", true},
      {"mean", CellKind::time},
      {"P50", CellKind::time, "Median"},
      {"P95", CellKind::time},
      {"P99", CellKind::time},
      {"longest", CellKind::time},
      {"cv", CellKind::number, "Standard deviation over mean: how unequal the durations are"}};
  for (const trace::OpStatistics& op : ops) {
    const trace::Op& info = store.ops()[op.op];
    TableRow row;
    row.id = op.op;
    row.swatch = theme().of(info.shown);
    row.cells = {text_from(store.text(info.name)),
                 category_label(info.shown),
                 text_from(store.text(info.category)),
                 op.count,
                 op.total,
                 op.mean,
                 static_cast<double>(op.p50),
                 static_cast<double>(op.p95),
                 static_cast<double>(op.p99),
                 static_cast<double>(op.most),
                 op.variation()};
    t.rows.push_back(std::move(row));
  }
  return t;
}

Table pivot_table(const trace::Pivot& pivot, const QString& first, const QString& second,
                  double window_ns) {
  Table t;
  t.empty_text =
      "Drag over the timeline to mark an area.\nIts slices are summed here, cut at the area's "
      "borders.";
  t.columns = {{first}};
  if (!second.isEmpty()) t.columns.push_back({second});
  t.columns.insert(
      t.columns.end(),
      {{"count", CellKind::count},
       {"time", CellKind::time, "Time inside the area; nested slices count in each", true},
       {"share", CellKind::percent, "Of the marked interval times the tracks looked at"},
       {"mean", CellKind::time},
       {"longest", CellKind::time}});
  for (std::size_t i = 0; i < pivot.rows.size(); ++i) {
    const trace::Pivot::Row& r = pivot.rows[i];
    TableRow row;
    row.id = i;
    const auto category = enum_from_text<trace::SliceCategory>(r.label);
    QString label = text_from(r.label);
    if (category && first == "category") {
      row.swatch = theme().of(*category);
      label = category_label(*category);
    }
    row.cells = {label};
    if (!second.isEmpty()) {
      const auto other = enum_from_text<trace::SliceCategory>(r.label2);
      row.cells.push_back(second == "category" && other ? category_label(*other)
                                                        : text_from(r.label2));
    }
    for (const TableCell& cell :
         {TableCell(r.count), TableCell(r.total), TableCell(r.share),
          TableCell(r.count > 0 ? r.total / static_cast<double>(r.count) : 0),
          TableCell(static_cast<double>(r.most))})
      row.cells.push_back(cell);
    row.tip = label + ": " + time_text(r.total) + " of " + time_text(window_ns) + " marked";
    t.rows.push_back(std::move(row));
  }
  return t;
}

Table rank_table(const trace::TraceStore& store, const std::vector<trace::RankStatistics>& ranks) {
  Table t;
  t.empty_text = "No ranks in this trace";
  t.columns = {
      {"rank"},
      {"node"},
      {"straggler score", CellKind::signed_percent,
       "How much longer the rank works between synchronisations than the median rank; median over "
       "steps",
       true},
      {"mean step", CellKind::time},
      {"compute", CellKind::time},
      {"exposed", CellKind::time, "Communication without compute, waiting for others included"},
      {"bubble", CellKind::time},
      {"idle", CellKind::time},
      {"waited", CellKind::time, "For the last arrival, over its collectives"},
      {"caused wait", CellKind::time, "Others' waiting for this rank, where it arrived last"},
      {"arrived last", CellKind::count, "Collectives in which the rank was the last to arrive"}};
  for (const trace::RankStatistics& r : ranks) {
    TableRow row;
    row.id = r.rank;
    const auto of = [&r](trace::SliceCategory c) {
      return r.seconds[static_cast<std::size_t>(c)] * kNsPerSecond;
    };
    const double computing = of(trace::SliceCategory::compute) +
                             of(trace::SliceCategory::optimizer) +
                             of(trace::SliceCategory::compression);
    row.cells = {rank_label(store, r.rank),
                 text_from(store.nodes()[store.ranks()[r.rank].node].label),
                 r.straggler_score,
                 r.mean_step * kNsPerSecond,
                 computing,
                 r.exposed * kNsPerSecond,
                 of(trace::SliceCategory::bubble),
                 r.idle * kNsPerSecond,
                 r.waited * kNsPerSecond,
                 r.caused_wait * kNsPerSecond,
                 r.last_arrivals};
    if (r.straggler_score > trace::kStragglerScore) row.ink = theme().slower;
    t.rows.push_back(std::move(row));
  }
  return t;
}

Table collective_table(const trace::TraceStore& store,
                       const std::vector<trace::CollectiveRun>& runs) {
  Table t;
  t.empty_text = "No collective was found in this trace";
  t.columns = {
      {"collective"},
      {"op", CellKind::text, "As the first member calls it"},
      {"group"},
      {"seen", CellKind::count,
       "Members that the trace shows; a simulated one stands for its peers"},
      {"ranks", CellKind::count, "Size of the group, where the trace states it"},
      {"step", CellKind::count},
      {"size", CellKind::bytes, "S, the full buffer, as nccl-tests counts it"},
      {"arrival skew", CellKind::time, "First to last arrival: time that somebody waits", true},
      {"transfer", CellKind::time, "Last arrival to the end", true},
      {"busbw", CellKind::rate, "Bus bandwidth after nccl-tests, over the transfer"},
      {"last to arrive"},
      {"starts", CellKind::time}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const trace::CollectiveRun& r = runs[i];
    TableRow row;
    row.id = i;
    row.swatch = r.members.empty() ? QColor() : theme().of(store.category(r.members.front()));
    row.cells = {
        text_from(r.kind),
        text_from(store.text(store.ops()[r.op].name)),
        text_from(r.group),
        static_cast<std::int64_t>(r.members.size()),
        r.group_size > 0 ? TableCell(static_cast<std::int64_t>(r.group_size)) : TableCell(""),
        r.step < 0 ? TableCell("") : TableCell(r.step),
        r.bytes > 0 ? TableCell(r.bytes) : TableCell("not stated"),
        static_cast<double>(r.skew()),
        static_cast<double>(r.transfer()),
        r.busbw_GBps > 0 ? TableCell(r.busbw_GBps * 1e9) : TableCell(""),
        rank_label(store, r.last_rank),
        static_cast<double>(r.first_arrival - store.begin())};
    if (!r.is_complete) row.tip = "Some members are missing from the trace";
    t.rows.push_back(std::move(row));
  }
  return t;
}

Table collective_totals_table(const trace::TraceStore& store,
                              const std::vector<trace::CollectiveTotals>& totals) {
  Table t;
  t.empty_text = "No collective was found in this trace";
  t.columns = {{"collective"},
               {"group"},
               {"runs", CellKind::count},
               {"bytes", CellKind::bytes},
               {"skew", CellKind::time, "Sum of arrival skew", true},
               {"transfer", CellKind::time, "Sum of transfers", true},
               {"mean busbw", CellKind::rate},
               {"last most often"},
               {"times", CellKind::count}};
  for (const trace::CollectiveTotals& c : totals)
    t.rows.push_back({{text_from(c.kind), text_from(c.group), c.runs,
                       c.bytes > 0 ? TableCell(c.bytes) : TableCell("not stated"),
                       c.skew_seconds * kNsPerSecond, c.transfer_seconds * kNsPerSecond,
                       c.mean_busbw_GBps > 0 ? TableCell(c.mean_busbw_GBps * 1e9) : TableCell(""),
                       rank_label(store, c.worst_rank), c.worst_rank_runs}});
  return t;
}

Table critical_share_table(const trace::CriticalPath& path) {
  Table t;
  t.empty_text = "The critical path is being traced";
  t.columns = {{"on the path"}, {"time", CellKind::time, "", true}, {"share", CellKind::percent}};
  for (std::size_t c = 0; c < path.seconds.size(); ++c) {
    if (path.seconds[c] <= 0) continue;
    const auto category = static_cast<trace::SliceCategory>(c);
    TableRow row{{category_label(category), path.seconds[c] * kNsPerSecond,
                  path.seconds[c] / path.seconds_total}};
    row.swatch = theme().of(category);
    row.tip = category_definition(category);
    t.rows.push_back(std::move(row));
  }
  if (path.gap_seconds > 0)
    t.rows.push_back({{"nothing ran (launch, host or unknown)", path.gap_seconds * kNsPerSecond,
                       path.gap_seconds / path.seconds_total}});
  std::stable_sort(t.rows.begin(), t.rows.end(), [](const TableRow& a, const TableRow& b) {
    return a.cells[1].value > b.cells[1].value;
  });
  return t;
}

Table critical_table(const trace::TraceStore& store, const trace::CriticalPath& path) {
  Table t;
  t.empty_text = "The critical path is being traced";
  t.columns = {{"op"},
               {"rank"},
               {"category"},
               {"starts", CellKind::time},
               {"time", CellKind::time, "", true},
               {"share", CellKind::percent}};
  for (std::size_t i = 0; i < path.segments.size(); ++i) {
    const trace::CriticalSegment& s = path.segments[i];
    TableRow row;
    row.id = i;
    const bool is_gap = s.slice == trace::kNoId;
    if (!is_gap) row.swatch = theme().of(s.category);
    const auto length = static_cast<double>(s.end - s.begin);
    row.cells = {is_gap ? QString("(nothing ran)") : text_from(store.name(s.slice)),
                 rank_label(store, s.rank),
                 is_gap ? QString() : category_label(s.category),
                 static_cast<double>(s.begin - store.begin()),
                 length,
                 length / std::max(1.0, path.seconds_total * kNsPerSecond)};
    t.rows.push_back(std::move(row));
  }
  return t;
}

Table slice_table(const trace::TraceStore& store, std::span<const trace::SliceId> slices,
                  const QString& empty_text) {
  Table t;
  t.empty_text = empty_text;
  t.columns = {{"op"},
               {"category"},
               {"where"},
               {"starts", CellKind::time},
               {"duration", CellKind::time, "", true}};
  for (const trace::SliceId s : slices) {
    TableRow row{{text_from(store.name(s)), category_label(store.category(s)), place_of(store, s),
                  static_cast<double>(store.start(s) - store.begin()),
                  static_cast<double>(store.duration(s))}};
    row.id = s;
    row.swatch = theme().of(store.category(s));
    t.rows.push_back(std::move(row));
  }
  return t;
}

Table import_counts_table(const trace::ImportReport& report) {
  Table t;
  t.columns = {{"what"}, {"count", CellKind::count}};
  t.rows.push_back({{"events read", report.events}});
  const auto phase_name = [](char phase) -> QString {
    switch (phase) {
      case 'X':
        return "complete (X)";
      case 'B':
        return "begin (B)";
      case 'E':
        return "end (E)";
      case 'i':
      case 'I':
        return QString("instant (%1)").arg(phase);
      case 'C':
        return "counter (C)";
      case 'M':
        return "metadata (M)";
      case 's':
        return "flow start (s)";
      case 't':
        return "flow step (t)";
      case 'f':
        return "flow end (f)";
      case '?':
        return "without \"ph\"";
      default:
        return QString("phase %1").arg(phase);
    }
  };
  for (std::size_t p = 0; p < report.events_by_phase.size(); ++p)
    if (report.events_by_phase[p] > 0)
      t.rows.push_back({{"   " + phase_name(static_cast<char>(p)), report.events_by_phase[p]}});
  t.rows.push_back({{"slices", report.slices}});
  t.rows.push_back({{"instants", report.instants}});
  t.rows.push_back({{"counter values", report.counter_values}});
  t.rows.push_back({{"arrows", report.flow_arrows}});
  t.rows.push_back({{"metadata", report.metadata}});
  TableRow lost{{"lost", report.lost}};
  if (report.lost > 0) lost.ink = theme().error;
  t.rows.push_back(std::move(lost));
  return t;
}

Table import_anomaly_table(const trace::ImportReport& report) {
  Table t;
  t.empty_text = "Nothing odd was met: every event of the files is in the picture";
  t.columns = {{"severity"}, {"what"}, {"count", CellKind::count}, {"first at"}, {"what to do"}};
  for (const Anomaly& a : report.anomalies.list()) {
    QStringList places;
    for (const std::string& place : a.places) places << QString::fromStdString(place);
    TableRow row{{text_from(text_of(a.severity)), QString::fromStdString(a.name).replace('_', ' '),
                  a.count, places.isEmpty() ? QString() : places.front(),
                  QString::fromStdString(a.advice)}};
    row.ink = a.severity == Severity::error     ? theme().error
              : a.severity == Severity::warning ? theme().warning
                                                : QColor();
    row.tip = QString::fromStdString(a.advice) + "\n" + places.join('\n');
    t.rows.push_back(std::move(row));
  }
  return t;
}

Table source_table(const trace::TraceStore& store, const trace::ImportReport& report) {
  Table t;
  t.empty_text = "No files";
  t.columns = {
      {"file"},
      {"format"},
      {"on disk", CellKind::bytes},
      {"inflated", CellKind::bytes},
      {"events", CellKind::count},
      {"read"},
      {"clock offset", CellKind::signed_time, "Was added to the file's times"},
      {"residual", CellKind::time, "How far matched collectives still disagree"},
      {"matches", CellKind::count, "Collectives the offset rests on; 0 = the file's own clock"}};
  for (std::size_t i = 0; i < report.files.size(); ++i) {
    const auto& file = report.files[i];
    const trace::SourceFile source =
        i < store.sources().size() ? store.sources()[i] : trace::SourceFile{};
    t.rows.push_back(
        {{QString::fromStdString(file.path), QString::fromStdString(file.format),
          static_cast<std::int64_t>(file.file_bytes), static_cast<std::int64_t>(file.bytes),
          file.events, file.is_complete ? "whole" : "broken off",
          static_cast<double>(source.clock_offset), static_cast<double>(source.clock_residual),
          source.clock_matches}});
    if (!file.is_complete) t.rows.back().ink = theme().error;
  }
  return t;
}
}  // namespace stepcast::gui
