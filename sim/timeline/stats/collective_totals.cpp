#include <algorithm>
#include <map>

#include "sim/timeline/stats/collectives.hpp"

namespace stepcast::trace {
namespace {
/// The family of groups: what our own writer puts before the instance ("dp: rank 0"), else all of
/// the text.
std::string family_of(const std::string& group) { return group.substr(0, group.find(": ")); }
}  // namespace

std::vector<CollectiveTotals> collective_totals(const TraceStore& trace,
                                                const std::vector<CollectiveRun>& runs) {
  std::map<std::pair<std::string, std::string>, CollectiveTotals> table;
  std::map<std::pair<std::string, std::string>, std::map<RankId, std::int64_t>> last;
  std::map<std::pair<std::string, std::string>, std::int64_t> measured;
  for (const CollectiveRun& run : runs) {
    const std::string op(trace.text(trace.ops()[run.op].name)), group = family_of(run.group);
    // Kernels of one collective have names by the dozen; our own ops say what is reduced.
    const bool is_named = group != run.group && op != run.kind;
    const std::pair key(is_named ? op + " (" + run.kind + ")" : run.kind, group);
    CollectiveTotals& row = table[key];
    row.kind = key.first, row.group = group;
    ++row.runs;
    row.bytes += run.bytes;
    row.skew_seconds += static_cast<double>(run.skew()) * 1e-9;
    row.transfer_seconds += static_cast<double>(run.transfer()) * 1e-9;
    if (run.busbw_GBps > 0) row.mean_busbw_GBps += run.busbw_GBps, ++measured[key];
    if (run.members.size() > 1 && run.skew() > 0) ++last[key][run.last_rank];
  }
  std::vector<CollectiveTotals> rows;
  for (auto& [key, row] : table) {
    if (measured[key] > 0) row.mean_busbw_GBps /= static_cast<double>(measured[key]);
    for (const auto& [rank, count] : last[key])
      if (count > row.worst_rank_runs) row.worst_rank = rank, row.worst_rank_runs = count;
    rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.skew_seconds + a.transfer_seconds > b.skew_seconds + b.transfer_seconds;
  });
  return rows;
}

CommunicationMatrix communication_matrix(const TraceStore& trace,
                                         const std::vector<CollectiveRun>& runs) {
  CommunicationMatrix m;
  m.ranks = trace.ranks().size();
  m.bytes.assign(m.ranks * m.ranks, 0), m.messages.assign(m.ranks * m.ranks, 0);
  const auto stated_bytes = [&](SliceId s) -> double {
    if (s == kNoId) return 0;
    const auto& list = trace.collectives();
    const auto at =
        std::lower_bound(list.begin(), list.end(), s,
                         [](const CollectiveSlice& c, SliceId id) { return c.slice < id; });
    return at != list.end() && at->slice == s ? static_cast<double>(at->bytes) : 0;
  };
  for (const FlowArrow& flow : trace.flows()) {
    const RankId from = trace.tracks()[flow.from_track].rank,
                 to = trace.tracks()[flow.to_track].rank;
    if (from == to) continue;
    ++m.messages[from * m.ranks + to];
    m.bytes[from * m.ranks + to] += std::max(stated_bytes(flow.from), stated_bytes(flow.to));
  }
  // A ring sends the same share over each of its edges (rank order; the library's own order is not
  // in the trace).
  for (const CollectiveRun& run : runs) {
    if (run.members.size() < 2) continue;
    const auto n = static_cast<double>(run.members.size());
    const double an_edge =
        static_cast<double>(run.bytes) * (run.kind == "all_reduce" ? 2 * (n - 1) / n : (n - 1) / n);
    for (std::size_t i = 0; i < run.members.size(); ++i) {
      const RankId from = trace.rank_of(run.members[i]),
                   to = trace.rank_of(run.members[(i + 1) % run.members.size()]);
      ++m.messages[from * m.ranks + to];
      m.bytes[from * m.ranks + to] += an_edge;
    }
  }
  return m;
}
}  // namespace stepcast::trace
