// Meetings that cannot happen: A waits for B's first collective, B for A's.
#include <algorithm>
#include <map>
#include <tuple>

#include "sim/import/replay/replay.hpp"

namespace stepcast {
namespace {
bool meets(const WorkOp& o) {
  return o.kind == WorkKind::collective || o.kind == WorkKind::send || o.kind == WorkKind::recv;
}
// Collectives by (group, match); messages by (sender, receiver, match).
using MeetingKey = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
MeetingKey key_of(const WorkRank& rank, const WorkOp& o) {
  if (o.kind == WorkKind::collective) return {-1 - std::int64_t{o.group}, -1, o.match};
  return o.kind == WorkKind::send ? MeetingKey{rank.rank, o.peer, o.match}
                                  : MeetingKey{o.peer, rank.rank, o.match};
}
struct Place {
  std::uint32_t rank = 0, op = 0;
};
struct Meeting {
  std::uint32_t expected = 0;
  std::vector<Place> arrived;
};

/// Runs the order without times: every op after its lane's and stated predecessors, meetings when
/// all members are there.
class Order {
 public:
  explicit Order(Workload& w) : w_(w) {
    waits_for_.resize(w.ranks.size()), dependants_.resize(w.ranks.size());
    for (std::uint32_t r = 0; r < w.ranks.size(); ++r) {
      const auto& ops = w.ranks[r].ops;
      waits_for_[r].assign(ops.size(), 0), dependants_[r].resize(ops.size());
      std::vector<std::int64_t> last(w.ranks[r].lanes.size(), -1);
      for (std::uint32_t i = 0; i < ops.size(); ++i) {
        for (const auto a : ops[i].after) dependants_[r][a].push_back(i), ++waits_for_[r][i];
        if (last[ops[i].lane] >= 0)
          dependants_[r][static_cast<std::size_t>(last[ops[i].lane])].push_back(i),
              ++waits_for_[r][i];
        last[ops[i].lane] = i;
        if (meets(ops[i])) ++meetings_[key_of(w.ranks[r], ops[i])].expected;
      }
    }
  }
  int run() {
    for (std::uint32_t r = 0; r < w_.ranks.size(); ++r)
      for (std::uint32_t i = 0; i < waits_for_[r].size(); ++i)
        if (waits_for_[r][i] == 0) ready_.push_back({r, i});
    int dissolved = 0;
    for (;;) {
      drain();
      const auto stuck = std::find_if(meetings_.begin(), meetings_.end(), [](const auto& m) {
        return !m.second.arrived.empty() && m.second.arrived.size() < m.second.expected;
      });
      if (stuck == meetings_.end()) return dissolved;
      dissolve(stuck->second);
      ++dissolved;
    }
  }

 private:
  void drain() {
    while (!ready_.empty()) {
      const Place at = ready_.back();
      ready_.pop_back();
      const WorkOp& o = w_.ranks[at.rank].ops[at.op];
      if (!meets(o)) {
        complete(at);
        continue;
      }
      const bool is_free_send = w_.messages == MessageRule::eager && o.kind == WorkKind::send;
      Meeting& m = meetings_.at(key_of(w_.ranks[at.rank], o));
      m.arrived.push_back(at);
      if (is_free_send) complete(at);
      if (m.arrived.size() < m.expected) continue;
      for (const Place& member : m.arrived)
        if (w_.messages != MessageRule::eager ||
            w_.ranks[member.rank].ops[member.op].kind != WorkKind::send)
          complete(member);
    }
  }
  void complete(const Place& at) {
    for (const auto next : dependants_[at.rank][at.op])
      if (--waits_for_[at.rank][next] == 0) ready_.push_back({at.rank, next});
  }
  /// Those who came go on alone, under a number that nobody else has; those who come later meet
  /// whoever is left.
  void dissolve(Meeting& m) {
    for (const Place& member : m.arrived) {
      w_.ranks[member.rank].ops[member.op].match = kAlone + next_alone_++;
      if (w_.messages != MessageRule::eager ||
          w_.ranks[member.rank].ops[member.op].kind != WorkKind::send)
        complete(member);
    }
    m.expected -= static_cast<std::uint32_t>(m.arrived.size());
    m.arrived.clear();
  }
  static constexpr std::int64_t kAlone = std::int64_t{1}
                                         << 52;  // above every number that an import gives
  Workload& w_;
  std::vector<std::vector<std::uint32_t>> waits_for_;
  std::vector<std::vector<std::vector<std::uint32_t>>> dependants_;
  std::map<MeetingKey, Meeting> meetings_;
  std::vector<Place> ready_;
  std::int64_t next_alone_ = 0;
};
}  // namespace

int dissolve_impossible_meetings(Workload& workload) { return Order(workload).run(); }
}  // namespace stepcast
