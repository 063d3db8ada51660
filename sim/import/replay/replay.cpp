#include "sim/import/replay/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "sim/core/assert.hpp"
#include "sim/import/common/intervals.hpp"
#include "sim/import/common/trace_timeline.hpp"

namespace stepcast {
namespace {

class Run {
 public:
  Run(const Workload& workload, const ReplayOptions& options)
      : workload_(workload), options_(options), network_(make_network(EngineKind::native)) {
    build();
  }
  ReplayResult finish() {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r)
      for (std::uint32_t i = 0; i < ranks_[r].waits_for.size(); ++i)
        if (ranks_[r].waits_for[i] == 0) ready(r, i);
    network_->run();
    check_all_done();
    return result();
  }

 private:
  struct RankState {
    std::vector<std::uint32_t> waits_for;                    // open dependencies
    std::vector<std::uint32_t> first_dependant, dependants;  // compressed lists
    std::vector<double> start, end;                          // -1 = not yet
    std::vector<double> moves;  // of a collective or message: when its bytes begin to move
  };
  struct Meeting {
    std::uint32_t expected = 0, arrived = 0;
    double sent = -1;           // eager message: when its send began
    bool is_delivered = false;  // eager message: its bytes are there
    std::vector<std::pair<std::uint32_t, std::uint32_t>> members;
  };

  const WorkOp& op(std::uint32_t rank, std::uint32_t index) const {
    return workload_.ranks[rank].ops[index];
  }
  static bool meets(const WorkOp& o) {
    return o.kind == WorkKind::collective || o.kind == WorkKind::send || o.kind == WorkKind::recv;
  }
  /// Collectives meet by (group, match); messages by (sender, receiver, match).
  std::string key_of(std::uint32_t rank, const WorkOp& o) const {
    if (o.kind == WorkKind::collective) return fmt::format("g{}/{}", o.group, o.match);
    const int mine = workload_.ranks[rank].rank;
    return o.kind == WorkKind::send ? fmt::format("m{}>{}/{}", mine, o.peer, o.match)
                                    : fmt::format("m{}>{}/{}", o.peer, mine, o.match);
  }

  void build() {
    ranks_.resize(workload_.ranks.size());
    std::unordered_map<std::string, std::uint32_t> meeting_of;
    meeting_.resize(ranks_.size());
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      const auto& ops = workload_.ranks[r].ops;
      RankState& s = ranks_[r];
      s.waits_for.assign(ops.size(), 0);
      s.start.assign(ops.size(), -1);
      s.end.assign(ops.size(), -1);
      s.moves.assign(ops.size(), -1);
      meeting_[r].assign(ops.size(), -1);
      std::vector<std::int64_t> last_on_lane(workload_.ranks[r].lanes.size(), -1);
      std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;  // (from, to)
      for (std::uint32_t i = 0; i < ops.size(); ++i) {
        for (const std::uint32_t a : ops[i].after) edges.emplace_back(a, i);
        auto& last = last_on_lane[ops[i].lane];
        if (last >= 0) edges.emplace_back(static_cast<std::uint32_t>(last), i);
        last = i;
        if (meets(ops[i])) {
          const auto [at, is_new] =
              meeting_of.emplace(key_of(r, ops[i]), static_cast<std::uint32_t>(meetings_.size()));
          if (is_new) meetings_.emplace_back();
          ++meetings_[at->second].expected;
          meeting_[r][i] = static_cast<std::int64_t>(at->second);
        }
      }
      std::sort(edges.begin(), edges.end());
      edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
      s.first_dependant.assign(ops.size() + 1, 0);
      for (const auto& [from, to] : edges) ++s.first_dependant[from + 1], ++s.waits_for[to];
      for (std::size_t i = 1; i < s.first_dependant.size(); ++i)
        s.first_dependant[i] += s.first_dependant[i - 1];
      s.dependants.reserve(edges.size());
      for (const auto& edge : edges) s.dependants.push_back(edge.second);
    }
  }

  void ready(std::uint32_t rank, std::uint32_t index) {
    const double delay = options_.keep_delays ? op(rank, index).delay_s : 0;
    network_->after(delay, [this, rank, index] { start(rank, index); });
  }
  void start(std::uint32_t rank, std::uint32_t index) {
    const WorkOp& o = op(rank, index);
    ranks_[rank].start[index] = network_->now();
    if (!meets(o)) {
      network_->after(o.duration_s, [this, rank, index] { complete(rank, index); });
      return;
    }
    const auto at = static_cast<std::size_t>(meeting_[rank][index]);
    Meeting& m = meetings_[at];
    m.members.emplace_back(rank, index);
    ++m.arrived;
    if (workload_.messages == MessageRule::eager && o.kind != WorkKind::collective &&
        m.expected == 2)
      return start_eager(at, rank, index);
    if (m.arrived < m.expected) return;
    for (const auto& [r, i] : m.members) ranks_[r].moves[i] = network_->now();
    const auto all_done = [this, at] {
      for (const auto& [r, i] : meetings_[at].members) complete(r, i);
    };
    if (options_.transport != nullptr &&
        options_.transport->carry(workload_, o, workload_.ranks[rank].rank, *network_, all_done))
      return;
    double transfer = o.duration_s;
    for (const auto& [r, i] : m.members) transfer = std::min(transfer, op(r, i).duration_s);
    network_->after(transfer, all_done);
  }
  void start_eager(std::size_t at, std::uint32_t rank, std::uint32_t index) {
    const WorkOp& o = op(rank, index);
    Meeting& m = meetings_[at];
    if (o.kind == WorkKind::recv) {
      ranks_[rank].moves[index] = std::max(m.sent, network_->now());
      if (m.is_delivered) complete(rank, index);
      return;
    }
    m.sent = ranks_[rank].moves[index] = network_->now();
    for (const auto& [r, i] : m.members) ranks_[r].moves[i] = network_->now();
    const auto delivered = [this, at, rank, index] {
      meetings_[at].is_delivered = true;
      complete(rank, index);
      for (const auto& [r, i] : meetings_[at].members)
        if (op(r, i).kind == WorkKind::recv) complete(r, i);
    };
    if (options_.transport != nullptr &&
        options_.transport->carry(workload_, o, workload_.ranks[rank].rank, *network_, delivered))
      return;
    network_->after(o.duration_s, delivered);
  }
  void complete(std::uint32_t rank, std::uint32_t index) {
    RankState& s = ranks_[rank];
    s.end[index] = network_->now();
    ++done_;
    for (std::uint32_t k = s.first_dependant[index]; k < s.first_dependant[index + 1]; ++k)
      if (--s.waits_for[s.dependants[k]] == 0) ready(rank, s.dependants[k]);
  }

  void check_all_done() const {
    if (done_ == workload_.op_count()) return;
    std::vector<std::string> stuck;
    for (std::uint32_t r = 0; r < ranks_.size() && stuck.size() < 2; ++r)
      for (std::uint32_t i = 0; i < ranks_[r].end.size(); ++i)
        if (ranks_[r].start[i] >= 0 && ranks_[r].end[i] < 0) {
          stuck.push_back(fmt::format("rank {} waits in {} ({})", workload_.ranks[r].rank,
                                      workload_.names.text_of(op(r, i).name), key_of(r, op(r, i))));
          break;
        }
    throw InputError(Problem{workload_.origin, "",
                             "the recorded order cannot run: " + joined(stuck, "; "),
                             "ranks of one job must come from one recording"});
  }

  ReplayResult result() const {
    ReplayResult out;
    out.total_s = network_->now();
    out.events = network_->events();
    out.ranks.assign(ranks_.size(), std::vector<ReplayResult::RankStep>(workload_.steps.size()));
    for (const Meeting& m : meetings_)
      if (m.members.size() > 1) out.meetings.push_back(m.members);
    for (const RankState& rank : ranks_) out.start_s.push_back(rank.start);
    std::vector<double> first(workload_.steps.size(), 1e300), last(workload_.steps.size(), 0);
    std::vector<std::vector<double>> markers;  // by rank
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      markers.emplace_back();
      for (std::uint32_t i = 0; i < ranks_[r].end.size(); ++i) {
        const WorkOp& o = op(r, i);
        const double begin = ranks_[r].start[i], end = ranks_[r].end[i];
        if (o.kind == WorkKind::marker) markers.back().push_back(end);
        if (o.step < 0) continue;
        const auto step = static_cast<std::size_t>(o.step);
        first[step] = std::min(first[step], begin), last[step] = std::max(last[step], end);
        auto& rs = out.ranks[r][step];
        rs.end_s = std::max(rs.end_s, end);
        if (o.kind == WorkKind::compute) rs.compute_s += o.duration_s;
        if (meets(o)) {
          rs.transfer_s += std::min(o.duration_s, end - begin);
          rs.wait_s += std::max(0.0, end - begin - o.duration_s);
        }
      }
    }
    std::vector<std::vector<DeviceWork>> device;  // by rank and step
    if (workload_.rule == StepRule::period)
      for (std::uint32_t r = 0; r < ranks_.size(); ++r) device.push_back(device_work(r));
    out.step_s.assign(workload_.steps.size(), 0);
    for (std::size_t s = 0; s < out.step_s.size(); ++s) {
      if (workload_.rule == StepRule::span) {
        if (last[s] > 0) out.step_s[s] = last[s] - first[s];
      } else {  // the slowest rank's period
        for (std::size_t r = 0; r < markers.size(); ++r)
          if (s + 1 < markers[r].size())
            out.step_s[s] = std::max(
                {out.step_s[s], markers[r][s + 1] - markers[r][s], device_seconds(device[r][s])});
      }
    }
    if (options_.account) account(out, markers, device, first, last);
    if (options_.record_timeline) out.timeline = timeline();
    return out;
  }
  /// Moments at which the device works for one step: compute, compute or copies, these or moving
  /// bytes (Owner::compute, copy, transfer), wherever they lie.
  using DeviceWork = std::array<Intervals, 3>;
  static double device_seconds(const DeviceWork& work) {
    return seconds_from_ns(work.back().length()).value;
  }
  /// By step. Step marks are the host's, which runs ahead of the device and in a trace of few steps
  /// is never stopped by it; yet no job's steps follow each other faster than its device works
  /// them off.
  std::vector<DeviceWork> device_work(std::uint32_t r) const {
    std::vector<DeviceWork> work(workload_.steps.size());
    for (std::uint32_t i = 0; i < ranks_[r].end.size(); ++i) {
      const WorkOp& o = op(r, i);
      if (o.step < 0 || o.kind == WorkKind::host || o.kind == WorkKind::marker) continue;
      const auto first = static_cast<std::size_t>(o.kind == WorkKind::compute ? Owner::compute
                                                  : o.kind == WorkKind::copy  ? Owner::copy
                                                                              : Owner::transfer);
      const double begin = std::max(ranks_[r].moves[i], ranks_[r].start[i]);
      for (std::size_t k = first; k < work[0].size(); ++k)
        work[static_cast<std::size_t>(o.step)][k].add(ns_from_seconds(Seconds(begin)),
                                                      ns_from_seconds(Seconds(ranks_[r].end[i])));
    }
    return work;
  }
  /// Every moment of each rank's steps to its owner: unions of ever more kinds of work, and what
  /// each kind adds.
  void account(ReplayResult& out, const std::vector<std::vector<double>>& markers,
               const std::vector<std::vector<DeviceWork>>& device, const std::vector<double>& first,
               const std::vector<double>& last) const {
    const auto ns = [](double seconds) { return ns_from_seconds(Seconds(seconds)); };
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      std::array<Intervals, kOwners - 1> busy;  // of this owner and all before it
      const auto add = [&](Owner owner, double begin, double end) {
        for (auto k = static_cast<std::size_t>(owner); k < busy.size(); ++k)
          busy[k].add(ns(begin), ns(end));
      };
      for (std::uint32_t i = 0; i < ranks_[r].end.size(); ++i) {
        const double begin = ranks_[r].start[i], end = ranks_[r].end[i],
                     moves = std::max(ranks_[r].moves[i], begin);
        switch (op(r, i).kind) {
          case WorkKind::compute:
            add(Owner::compute, begin, end);
            break;
          case WorkKind::copy:
            add(Owner::copy, begin, end);
            break;
          case WorkKind::host:
          case WorkKind::marker:  // of the host, from its last call to the mark
            add(Owner::host, begin, end);
            break;
          default:
            add(Owner::waiting, begin, moves), add(Owner::transfer, moves, end);
        }
      }
      for (std::size_t s = 0; s < workload_.steps.size(); ++s) {
        double begin = first[s], end = last[s];
        if (workload_.rule == StepRule::period) {
          if (s + 1 >= markers[r].size()) continue;
          begin = markers[r][s], end = markers[r][s + 1];
          if (device_seconds(device[r][s]) > end - begin) {
            account_device(device[r][s], out.ranks[r][s]);
            continue;
          }
        }
        if (!(end > begin)) continue;
        Intervals window;
        window.add(ns(begin), ns(end));
        auto& rs = out.ranks[r][s];
        rs.window_s = seconds_from_ns(window.length()).value;
        double before = 0;
        for (std::size_t k = 0; k < busy.size(); ++k) {
          const double now = seconds_from_ns(busy[k].overlap_with(window)).value;
          rs.owned[k] = now - before;
          before = now;
        }
        rs.owned[kOwners - 1] = rs.window_s - before;
      }
    }
  }
  /// A step that the device paces consists of its work alone.
  static void account_device(const DeviceWork& work, ReplayResult::RankStep& rank_step) {
    double before = 0;
    for (std::size_t k = 0; k < work.size(); ++k) {
      const double now = seconds_from_ns(work[k].length()).value;
      rank_step.owned[k] = now - before;
      before = now;
    }
    rank_step.window_s = before;
  }
  Timeline timeline() const {
    Timeline t;
    t.origin = "simulated";
    std::vector<NameId> names;
    for (NameId i = 0; i < workload_.names.size(); ++i)
      names.push_back(t.names.id_of(workload_.names.text_of(i)));
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      const auto base = static_cast<std::uint32_t>(t.tracks.size());
      for (const auto& lane : workload_.ranks[r].lanes)
        t.tracks.push_back({0, workload_.ranks[r].rank, lane});
      for (std::uint32_t i = 0; i < ranks_[r].end.size(); ++i) {
        const WorkOp& o = op(r, i);
        const GroupKind group = o.kind == WorkKind::collective
                                    ? workload_.groups[static_cast<std::size_t>(o.group)].kind
                                    : GroupKind::pp;
        const Category category = o.kind == WorkKind::compute ? Category::compute
                                  : meets(o)                  ? exposed_category(group)
                                                              : Category::other;
        t.spans.push_back({base + o.lane, names[o.name], category,
                           ns_from_seconds(Seconds(ranks_[r].start[i])),
                           ns_from_seconds(Seconds(ranks_[r].end[i])), -1});
      }
    }
    return t;
  }

  const Workload& workload_;
  const ReplayOptions& options_;
  std::unique_ptr<Network> network_;
  std::vector<RankState> ranks_;
  std::vector<std::vector<std::int64_t>> meeting_;
  std::vector<Meeting> meetings_;
  std::size_t done_ = 0;
};
}  // namespace

ReplayResult replay(const Workload& workload, const ReplayOptions& options) {
  return Run(workload, options).finish();
}
}  // namespace stepcast
