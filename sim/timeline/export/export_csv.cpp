#include "sim/core/enum_text.hpp"
#include "sim/io/csv.hpp"
#include "sim/io/files.hpp"
#include "sim/timeline/export/export.hpp"

namespace stepcast::trace {
std::string csv_text(const std::vector<std::string>& header,
                     const std::vector<std::vector<std::string>>& rows) {
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) out += (i > 0 ? "," : "") + csv_cell(cells[i]);
    out += '\n';
  };
  line(header);
  for (const auto& row : rows) line(row);
  return out;
}

void export_slices_csv(const TraceStore& trace, std::span<const SliceId> slices,
                       const std::string& path) {
  std::string out = "name,category,node,rank,stream,lane,start_ns,duration_ns\n";
  for (const SliceId s : slices) {
    const TrackInfo& track = trace.tracks()[trace.track_of(s)];
    const RankInfo& rank = trace.ranks()[track.rank];
    out += csv_cell(std::string(trace.name(s))) + ',' + std::string(text_of(trace.category(s))) +
           ',' + csv_cell(trace.nodes()[rank.node].label) + ',' + csv_cell(rank.label) + ',' +
           csv_cell(track.label) + ',' + std::to_string(trace.depth_of(s)) + ',' +
           std::to_string(trace.start(s)) + ',' + std::to_string(trace.duration(s)) + '\n';
  }
  write_file(path, out);
}
}  // namespace stepcast::trace
