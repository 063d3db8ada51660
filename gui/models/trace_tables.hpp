#pragma once
#include "gui/document/trace_facts.hpp"
#include "gui/models/table.hpp"
#include "sim/timeline/read/import_report.hpp"

/// Tables about one trace; times in nanoseconds, row ids say what a row stands for.
namespace stepcast::gui {
QString text_from(std::string_view text);
/// "12 - 40 of rank 3 / compute": where a slice stands.
QString place_of(const trace::TraceStore& store, trace::SliceId slice);

Table op_table(const trace::TraceStore& store,
               const std::vector<trace::OpStatistics>& ops);  // id: OpId
Table pivot_table(const trace::Pivot& pivot, const QString& first, const QString& second,
                  double window_ns);  // id: row of the pivot
Table rank_table(const trace::TraceStore& store,
                 const std::vector<trace::RankStatistics>& ranks);  // id: RankId
Table collective_table(const trace::TraceStore& store,
                       const std::vector<trace::CollectiveRun>& runs);  // id: index of the run
Table collective_totals_table(const trace::TraceStore& store,
                              const std::vector<trace::CollectiveTotals>& totals);
Table critical_table(const trace::TraceStore& store,
                     const trace::CriticalPath& path);  // id: index of the segment
Table critical_share_table(const trace::CriticalPath& path);
Table slice_table(const trace::TraceStore& store, std::span<const trace::SliceId> slices,
                  const QString& empty_text);  // id: SliceId
Table import_counts_table(const trace::ImportReport& report);
Table import_anomaly_table(const trace::ImportReport& report);
Table source_table(const trace::TraceStore& store, const trace::ImportReport& report);
}  // namespace stepcast::gui
