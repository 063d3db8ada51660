#pragma once
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "sim/timeline/filter/filter.hpp"
#include "sim/timeline/stats/op_statistics.hpp"
#include "sim/timeline/store/trace_store.hpp"

namespace stepcast::trace {
/// The area as Chrome/Perfetto JSON that opens again here and there: whole slices that touch it,
/// instants, counters (with the value that holds at the begin), arrows with both ends inside, names
/// of nodes, ranks and tracks. .gz by name. Times as in the source. Returns the number of slices.
/// Throws EnvironmentError; stopped: no file, returns 0.
std::int64_t export_trimmed(const TraceStore& trace, const Area& area, const std::string& path,
                            const BoundFilter* filter = nullptr, std::stop_token stop = {});
/// name, category, rank, stream, lane, start_ns, duration_ns of slices. RFC 4180 quoting.
void export_slices_csv(const TraceStore& trace, std::span<const SliceId> slices,
                       const std::string& path);
/// Any table: a header and rows of text.
std::string csv_text(const std::vector<std::string>& header,
                     const std::vector<std::vector<std::string>>& rows);
}  // namespace stepcast::trace
