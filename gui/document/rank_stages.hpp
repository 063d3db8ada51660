#pragma once
#include <QStringList>
#include <vector>

#include "sim/timeline/store/trace_store.hpp"

namespace stepcast::gui {
/// The pipeline stage of every rank, from the report.json that stepcast wrote beside the trace
/// (rank order tp-cp-ep-dp-pp, the default: stage = rank / (tp * cp * dp)). Empty without such a
/// report.
std::vector<int> rank_stages(const QStringList& trace_paths, const trace::TraceStore& store);
}  // namespace stepcast::gui
