#pragma once
#include "gui/document/compare_document.hpp"
#include "gui/models/table.hpp"

/// Tables about two traces; differences are B minus A.
namespace stepcast::gui {
Table delta_table_of(const std::vector<trace::Delta>& deltas, bool hides_unchanged);
Table unmatched_table(const trace::TraceStore& a, const trace::TraceStore& b,
                      const trace::Match& match);
Table error_table(const std::vector<trace::Accuracy::Row>& rows, const QString& what);
Table worst_table(const trace::TraceStore& a, const trace::TraceStore& b,
                  const trace::Accuracy& accuracy);  // id: SliceId of A
}  // namespace stepcast::gui
