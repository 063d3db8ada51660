#include "sim/import/straggler/straggler_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "sim/import/common/byte_source.hpp"
#include "sim/io/csv.hpp"

namespace stepcast::straggler {
namespace {
constexpr double kTogether =
    5e-6;  // rows of one batched call are stamped within a few microseconds
constexpr std::int64_t kLimit = std::int64_t{1} << 30;

struct Row {
  int dp = 0, stage = 0, rank = 0;
  std::int64_t step = 0, sequence = 0;
  std::string type;
  double start = 0, duration = 0;
  double end() const { return start + duration; }
};
bool ends_with(const std::string& text, std::string_view tail) { return text.ends_with(tail); }
bool is_message(const Row& r) { return ends_with(r.type, "-send") || ends_with(r.type, "-recv"); }

/// Who takes part in a collective of this type, as a group name: reductions and gathers of one
/// stage's replicas; the tied embedding's of first and last stage; the gradient norm inside the
/// clip is a reduction over everyone.
std::string group_of(const Row& r) {
  if (r.type == "optimizer-clip-main-grad") return "world";
  if (r.type == "embedding-grads-all-reduce") return fmt::format("embedding dp{}", r.dp);
  if (ends_with(r.type, "-all-reduce") || ends_with(r.type, "-reduce-scatter") ||
      ends_with(r.type, "-all-gather"))
    return fmt::format("dp stage{}", r.stage);
  return "";
}
Collective collective_of(const std::string& type) {
  return ends_with(type, "-reduce-scatter") ? Collective::reduce_scatter
         : ends_with(type, "-all-gather")   ? Collective::all_gather
                                            : Collective::all_reduce;
}

class Builder {
 public:
  Builder(std::vector<Row> rows, const std::string& path, Anomalies& anomalies)
      : rows_(std::move(rows)), path_(path), anomalies_(anomalies) {}
  Workload build() {
    std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
      return std::tie(a.rank, a.step, a.start, a.type, a.sequence) <
             std::tie(b.rank, b.step, b.start, b.type, b.sequence);
    });
    w_.origin = "straggler-table";
    w_.rule = StepRule::span;
    find_partners();
    std::map<std::int64_t, std::pair<double, double>> spans;
    for (const Row& r : rows_) {
      auto [at, is_new] = spans.emplace(r.step, std::pair{r.start, r.end()});
      if (!is_new)
        at->second = {std::min(at->second.first, r.start), std::max(at->second.second, r.end())};
    }
    for (const auto& [number, span] : spans) {
      step_index_[number] = static_cast<std::int32_t>(w_.steps.size());
      first_start_[number] = span.first;
      w_.steps.push_back({number, span.second - span.first});
    }
    for (std::size_t i = 0; i < rows_.size();) {
      std::size_t end = i;
      while (end < rows_.size() && rows_[end].rank == rows_[i].rank) ++end;
      add_rank(i, end);
      i = end;
    }
    return std::move(w_);
  }

 private:
  /// Messages pair by (step, replica, boundary, direction, sequence); collectives by (step, group,
  /// type, occurrence).
  std::string meeting_of(const Row& r) const {
    if (is_message(r)) {
      const bool is_forward = r.type.starts_with("forward");
      const bool is_send = ends_with(r.type, "-send");
      const int from = is_send ? r.stage : is_forward ? r.stage - 1 : r.stage + 1;
      return fmt::format("{}/{}/{}/{}/{}", r.step, r.dp, is_forward ? "f" : "b", from, r.sequence);
    }
    return fmt::format("{}/{}/{}/{}", r.step, group_of(r), r.type, r.sequence);
  }
  void find_partners() {
    for (const Row& r : rows_) {
      rank_at_[{r.dp, r.stage}] = r.rank;
      if (!is_message(r) && group_of(r).empty()) continue;
      auto& m = meetings_[meeting_of(r)];
      if (m.id == 0) m.id = static_cast<std::int64_t>(meetings_.size()), m.first_end = r.end();
      m.last_start = std::max(m.last_start, r.start);
      m.last_end = std::max(m.last_end, r.end());
      m.first_end = std::min(m.first_end, r.end());
      ++m.members;
    }
  }
  void add_rank(std::size_t begin, std::size_t end) {
    WorkRank rank{
        rows_[begin].rank, rows_[begin].stage, {"worker", "batched send", "batched send 2"}, {}};
    std::vector<std::uint32_t> frontier;  // what the next call waits for
    double free_at = 0;
    std::int64_t step = -1;
    for (std::size_t i = begin; i < end;) {
      std::size_t batch_end = i + 1;
      while (batch_end < end && rows_[batch_end].step == rows_[i].step && is_message(rows_[i]) &&
             is_message(rows_[batch_end]) && rows_[batch_end].start - rows_[i].start < kTogether)
        ++batch_end;
      if (rows_[i].step != step) {  // steps of the table are apart; each starts on its own
        step = rows_[i].step;
        free_at = first_start_[step];
      }
      std::vector<std::uint32_t> added;
      double batch_finish = 0;
      for (std::size_t k = i; k < batch_end; ++k) {
        const Row& r = rows_[k];
        WorkOp o = op_of(r);
        o.lane = static_cast<std::uint16_t>(std::min<std::size_t>(k - i, rank.lanes.size() - 1));
        o.after = frontier;
        o.delay_s = std::max(0.0, r.start - free_at);
        batch_finish = std::max(batch_finish, r.end());
        added.push_back(static_cast<std::uint32_t>(rank.ops.size()));
        rank.ops.push_back(std::move(o));
      }
      frontier = std::move(added);
      free_at = std::max(free_at, batch_finish);
      i = batch_end;
    }
    w_.ranks.push_back(std::move(rank));
  }
  WorkOp op_of(const Row& r) {
    WorkOp o;
    o.name = w_.names.id_of(r.type);
    o.step = step_index_[r.step];
    o.duration_s = r.duration;
    const std::string group = group_of(r);
    if (!is_message(r) && group.empty()) return o;
    const Meeting& m = meetings_[meeting_of(r)];
    o.match = m.id;
    // What is left of the last arriver's time; ends of one meeting differ by clock noise, the
    // earliest keeps it a lower bound.
    o.duration_s = std::clamp(m.last_end - m.last_start, 0.0, std::max(r.duration, 0.0));
    if (is_message(r)) {
      const bool is_forward = r.type.starts_with("forward"), is_send = ends_with(r.type, "-send");
      const int peer_stage = r.stage + (is_forward == is_send ? 1 : -1);
      const auto peer = rank_at_.find({r.dp, peer_stage});
      o.kind = is_send ? WorkKind::send : WorkKind::recv;
      o.peer = peer == rank_at_.end() ? -1 : peer->second;
      if (m.members != 2) {
        anomalies_.add(
            "message_without_partner", Severity::warning,
            "a send or receive whose other end is not in the table keeps its own duration", path_);
        o.kind = WorkKind::compute, o.duration_s = r.duration;
      }
      return o;
    }
    o.kind = WorkKind::collective;
    o.collective = collective_of(r.type);
    const auto [at, is_new] =
        group_index_.emplace(group, static_cast<std::int32_t>(w_.groups.size()));
    if (is_new)
      w_.groups.push_back({group,
                           group == "world"           ? GroupKind::world
                           : group.starts_with("emb") ? GroupKind::embedding
                                                      : GroupKind::dp,
                           0,
                           {}});
    o.group = at->second;
    WorkGroup& g = w_.groups[static_cast<std::size_t>(o.group)];
    if (std::find(g.ranks.begin(), g.ranks.end(), r.rank) == g.ranks.end())
      g.ranks.push_back(r.rank), ++g.size;
    return o;
  }

  struct Meeting {
    std::int64_t id = 0;
    double last_start = 0, last_end = 0, first_end = 0;
    int members = 0;
  };
  std::vector<Row> rows_;
  const std::string& path_;
  Anomalies& anomalies_;
  Workload w_;
  std::map<std::string, Meeting> meetings_;
  std::map<std::pair<int, int>, int> rank_at_;
  std::map<std::int64_t, std::int32_t> step_index_;
  std::map<std::int64_t, double> first_start_;
  std::map<std::string, std::int32_t> group_index_;
};
}  // namespace

bool sniff(std::string_view head) {
  const std::string_view line = head.substr(0, std::min(head.find('\n'), head.size()));
  return line.find("optype") != std::string_view::npos &&
         line.find("start_ts") != std::string_view::npos &&
         line.find("stage") != std::string_view::npos;
}

Workload read_table(const std::string& path, Anomalies& anomalies) {
  const CsvTable table = CsvTable::parse(read_all(path, kLimit), path).value_or_throw();
  Problems problems;
  for (const char* column :
       {"dp_rank", "stage", "rank", "step", "optype", "start_ts", "duration", "seq_id"})
    if (!table.has_column(column))
      problems.add({path, "line 1", std::string("has no column ") + column, ""});
  if (!problems.empty()) throw InputError(problems);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    std::array<double, 7> v{};
    bool is_good = !table.text(i, "optype").empty();
    std::size_t k = 0;
    for (const char* column :
         {"dp_rank", "stage", "rank", "step", "start_ts", "duration", "seq_id"}) {
      const auto number = table.number(i, column);
      is_good = is_good && number && std::abs(*number) < 1e9;
      v[k++] = number.value_or(0);
    }
    if (!is_good || v[5] < 0) {
      anomalies.add("row_unreadable", Severity::error,
                    "rows without numbers where numbers belong are lost",
                    fmt::format("{}:{}", path, table.line_of(i)));
      continue;
    }
    rows.push_back({static_cast<int>(v[0]), static_cast<int>(v[1]), static_cast<int>(v[2]),
                    static_cast<std::int64_t>(v[3]), static_cast<std::int64_t>(v[6]),
                    table.text(i, "optype"), v[4], v[5]});
  }
  if (rows.empty()) throw InputError(Problem{path, "", "holds no operation", ""});
  return Builder(std::move(rows), path, anomalies).build();
}
}  // namespace stepcast::straggler
