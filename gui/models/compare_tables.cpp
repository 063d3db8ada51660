#include "gui/models/compare_tables.hpp"

#include "gui/look/text.hpp"
#include "gui/look/theme.hpp"
#include "gui/models/trace_tables.hpp"

namespace stepcast::gui {
namespace {
constexpr double kNs = 1e9;  // nanoseconds per second
}

Table delta_table_of(const std::vector<trace::Delta>& deltas, bool hides_unchanged) {
  Table t;
  t.empty_text = "No difference beyond the threshold";
  t.columns = {{"op or category"},
               {"A per step", CellKind::time, "Seconds per step and rank"},
               {"B per step", CellKind::time},
               {"B - A", CellKind::signed_time, "", true},
               {"change", CellKind::signed_percent},
               {"contribution", CellKind::percent, "Share of the sum of all absolute differences"},
               {"count A", CellKind::count},
               {"count B", CellKind::count},
               {"mean A", CellKind::time},
               {"mean B", CellKind::time},
               {"P95 A", CellKind::time},
               {"P95 B", CellKind::time}};
  for (const trace::Delta& d : deltas) {
    if (hides_unchanged && !d.is_change) continue;
    TableRow row;
    row.swatch = theme().of(d.category);
    const auto category = enum_from_text<trace::SliceCategory>(d.label);
    const TableCell change = d.count_a == 0   ? TableCell("only in B")
                             : d.count_b == 0 ? TableCell("only in A")
                                              : TableCell(d.percent() / 100);
    row.cells = {category ? category_label(*category) : text_from(d.label),
                 d.total_a * kNs,
                 d.total_b * kNs,
                 d.difference() * kNs,
                 change,
                 d.contribution,
                 d.count_a,
                 d.count_b,
                 d.mean_a * kNs,
                 d.mean_b * kNs,
                 d.p95_a * kNs,
                 d.p95_b * kNs};
    if (d.is_change) row.ink = d.difference() > 0 ? theme().slower : theme().faster;
    t.rows.push_back(std::move(row));
  }
  return t;
}

Table unmatched_table(const trace::TraceStore& a, const trace::TraceStore& b,
                      const trace::Match& match) {
  Table t;
  t.empty_text = "Every slice has its partner";
  t.columns = {
      {"only in"}, {"what"}, {"count", CellKind::count}, {"time", CellKind::time, "", true}};
  const auto add = [&t](const char* side, const trace::TraceStore& store,
                        const std::vector<trace::Match::Unmatched>& list, const QColor& colour) {
    for (const auto& u : list) {
      t.rows.push_back(
          {{side, text_from(store.text(store.ops()[u.op].name)), u.count, u.seconds * kNs}});
      t.rows.back().swatch = colour;
    }
  };
  for (const trace::RankId rank : match.ranks_only_a)
    t.rows.push_back({{"A", "all of " + text_from(a.ranks()[rank].label), 1, ""}});
  for (const trace::RankId rank : match.ranks_only_b)
    t.rows.push_back({{"B", "all of " + text_from(b.ranks()[rank].label), 1, ""}});
  add("A", a, match.only_a, theme().a_edge);
  add("B", b, match.only_b, theme().b_edge);
  return t;
}

Table error_table(const std::vector<trace::Accuracy::Row>& rows, const QString& what) {
  Table t;
  t.empty_text = "No matched slices";
  t.columns = {
      {what},
      {"error", CellKind::signed_percent, "B / A - 1: positive where B predicts too long", true},
      {"A", CellKind::time},
      {"B", CellKind::time},
      {"pairs", CellKind::count}};
  for (const auto& r : rows) {
    TableRow row{{text_from(r.label), r.error, r.seconds_a * kNs, r.seconds_b * kNs, r.pairs}};
    row.swatch = r.error > 0 ? theme().slower : theme().faster;
    t.rows.push_back(std::move(row));
  }
  return t;
}

Table worst_table(const trace::TraceStore& a, const trace::TraceStore& b,
                  const trace::Accuracy& accuracy) {
  Table t;
  t.empty_text = "No matched slices";
  t.columns = {{"op"},
               {"where in A"},
               {"B - A", CellKind::signed_time, "", true},
               {"A", CellKind::time},
               {"B", CellKind::time},
               {"error", CellKind::signed_percent}};
  for (const auto& w : accuracy.worst) {
    const auto in_a = static_cast<double>(a.duration(w.a)),
               in_b = static_cast<double>(b.duration(w.b));
    TableRow row{{text_from(a.name(w.a)), place_of(a, w.a), in_b - in_a, in_a, in_b,
                  in_a > 0 ? TableCell(in_b / in_a - 1) : TableCell("")}};
    row.id = w.a;
    row.swatch = theme().of(a.category(w.a));
    t.rows.push_back(std::move(row));
  }
  return t;
}
}  // namespace stepcast::gui
