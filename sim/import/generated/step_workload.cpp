#include "sim/import/generated/step_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "sim/core/assert.hpp"
#include "sim/import/generated/pass_writer.hpp"

namespace stepcast {
namespace {
constexpr auto kCompute = static_cast<std::size_t>(Lane::compute);
/// Meetings that a block has with itself are numbered from here, above all others' order numbers.
constexpr std::int64_t kOwnMeetings = std::int64_t{1} << 40;

class JobWriter {
 public:
  JobWriter(const Job& job, const StepOutcome& outcome) : job_(job), outcome_(outcome) {
    STEPCAST_ASSERT(outcome.op_times.size() == job.workers.size(), "op times were asked for");
    w_.origin = "scenario";
    w_.rule = StepRule::span;
    w_.messages = MessageRule::eager;  // the executor's sends end when their bytes have arrived
    w_.steps.push_back({0, outcome.step_s});
    for (NameId i = 0; i < job.names.size(); ++i)
      names_.push_back(w_.names.id_of(job.names.text_of(i)));
    begin_ = w_.names.id_of("step");
    issue_ = w_.names.id_of("kernel launches");
    add_groups();
    for (const Channel& c : job.channels) {
      receiver_[{c.from, job.workers[c.to].stage}] = c.to;
      sender_[{c.to, job.workers[c.from].stage}] = c.from;
    }
    find_meetings();
  }

  Workload write() {
    for (std::uint32_t worker = 0; worker < job_.workers.size(); ++worker) write_rank(worker);
    return std::move(w_);
  }

 private:
  using Order = std::map<std::int32_t, std::uint32_t>;  // by group: collectives so far
  /// A message is known by its channel, its tag and how often the tag was used before.
  using MessageKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
  using TagCount = std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>;
  struct Collected {
    double last_arrival = 0;
    std::int64_t match = 0;
  };
  struct Sent {
    double start = 0, end = 0;
    std::int64_t match = 0;
  };

  const Program& program_of(std::uint32_t worker) const {
    return job_.programs[job_.workers[worker].program];
  }
  const OpTime& time_of(std::uint32_t worker, std::size_t lane, std::size_t position) const {
    return outcome_.op_times[worker][lane][position];
  }
  std::int32_t group_of(std::uint32_t worker, const ProgramOp& op) const {
    const GroupKind kind = program_of(worker).transfers[op.index].group;
    return job_.workers[worker].group[static_cast<std::size_t>(kind)];
  }

  void add_groups() {
    for (std::size_t g = 0; g < job_.groups.size(); ++g) {
      const Group& from = job_.groups[g];
      WorkGroup group{fmt::format("{} {}", text_of(from.kind), g), from.kind, 0, {}};
      for (const std::uint32_t worker : from.workers) {
        group.size += job_.workers[worker].multiplicity;
        group.ranks.push_back(job_.workers[worker].first_rank);
      }
      w_.groups.push_back(std::move(group));
    }
  }
  /// The group of this rank's lockstep block alone.
  std::int32_t block_group(GroupKind kind, int rank) {
    const auto [at, is_new] =
        block_groups_.emplace(std::pair{kind, rank}, static_cast<std::int32_t>(w_.groups.size()));
    if (is_new)
      w_.groups.push_back(
          {fmt::format("{} of the block of rank {}", text_of(kind), rank), kind, 1, {rank}});
    return at->second;
  }

  /// Collectives of a group meet by lane and order, messages by channel, tag and order.
  void find_meetings() {
    for (std::uint32_t worker = 0; worker < job_.workers.size(); ++worker)
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        Order order;
        TagCount sent;
        const auto& ops = program_of(worker).lanes[lane];
        for (std::size_t i = 0; i < ops.size(); ++i) {
          const OpTime& time = time_of(worker, lane, i);
          if (ops[i].kind == GraphOp::Kind::send) {
            const std::uint32_t to = receiver_.at({worker, ops[i].peer_stage});
            const std::uint32_t repeat = sent[{to, ops[i].tag}]++;
            messages_[{worker, to, ops[i].tag, repeat}] = {
                time.start, time.end, static_cast<std::int64_t>(messages_.size())};
          }
          if (ops[i].kind != GraphOp::Kind::collective) continue;
          const std::int32_t group = group_of(worker, ops[i]);
          if (group < 0) continue;
          const auto [at, is_new] =
              collectives_.emplace(std::tuple{group, lane, order[group]++},
                                   Collected{0, static_cast<std::int64_t>(collectives_.size())});
          at->second.last_arrival = std::max(at->second.last_arrival, time.start);
        }
      }
  }

  /// Lanes of a rank, its ops so far and when each lane is free.
  struct RankState {
    WorkRank rank;
    std::array<std::uint16_t, kLanes> lane_index{};
    std::array<std::vector<std::uint32_t>, kLanes> last_op;  // that ends each op of a lane
    std::array<double, kLanes> free_at{};
    std::array<Order, kLanes> order;
    std::array<TagCount, kLanes> tags;
  };
  /// What an op waits for beside its lane, and when all of that is complete.
  struct Waits {
    std::vector<std::uint32_t> after;
    double ready = 0;
  };

  void write_rank(std::uint32_t worker) {
    const Worker& from = job_.workers[worker];
    const Program& program = program_of(worker);
    RankState s{.rank = {from.first_rank, from.stage, {}, {}}};
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (lane != kCompute && program.lanes[lane].empty()) continue;
      s.lane_index[lane] = static_cast<std::uint16_t>(s.rank.lanes.size());
      s.rank.lanes.emplace_back(text_of(static_cast<Lane>(lane)));
    }
    const auto host_lane = static_cast<std::uint16_t>(s.rank.lanes.size());
    s.rank.lanes.emplace_back("host");
    // The step begins at zero, also where its first op does not.
    s.rank.ops.push_back({.kind = WorkKind::marker, .name = begin_, .step = 0, .after = {}});
    PassWriter passes(
        s.rank, {s.lane_index[kCompute], host_lane}, issue_,
        [this](NameId name) { return names_[name]; },
        [this, rank = from.first_rank](GroupKind kind) { return block_group(kind, rank); },
        next_own_);
    // An op is written once all that it waits for is: an order in which the executor could have
    // run them.
    for (bool has_progress = true; has_progress;) {
      has_progress = false;
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        while (s.last_op[lane].size() < program.lanes[lane].size()) {
          const std::size_t i = s.last_op[lane].size();
          const auto waits = waits_of(s, worker, lane, program.lanes[lane][i]);
          if (!waits) break;
          write_op(s, passes, worker, lane, i, *waits);
          s.free_at[lane] = time_of(worker, lane, i).end;
          s.last_op[lane].push_back(static_cast<std::uint32_t>(s.rank.ops.size() - 1));
          has_progress = true;
        }
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      STEPCAST_ASSERT(s.last_op[lane].size() == program.lanes[lane].size(),
                      "a step that ran has an order");
    w_.ranks.push_back(std::move(s.rank));
  }

  /// Nothing while a dependency is not written yet.
  std::optional<Waits> waits_of(const RankState& s, std::uint32_t worker, std::size_t lane,
                                const ProgramOp& op) const {
    Waits waits{{}, s.free_at[lane]};
    for (std::uint32_t d = 0; d < op.dependency_count; ++d) {
      const Dependency& needed = program_of(worker).dependencies[op.first_dependency + d];
      const auto other = static_cast<std::size_t>(needed.lane);
      if (s.last_op[other].size() <= needed.position) return std::nullopt;
      waits.after.push_back(s.last_op[other][needed.position]);
      waits.ready = std::max(waits.ready, time_of(worker, other, needed.position).end);
    }
    return waits;
  }

  void write_op(RankState& s, PassWriter& passes, std::uint32_t worker, std::size_t lane,
                std::size_t position, const Waits& waits) {
    const ProgramOp& op = program_of(worker).lanes[lane][position];
    const OpTime& time = time_of(worker, lane, position);
    if (op.kind == GraphOp::Kind::work && lane == kCompute)
      return passes.add(program_of(worker).segments[op.index], op, time, waits.after, waits.ready);
    WorkOp o{.lane = s.lane_index[lane],
             .name = names_[op.name],
             .duration_s = time.end - time.start,
             .delay_s = std::max(0.0, time.start - waits.ready),
             .step = 0,
             .after = waits.after};
    switch (op.kind) {
      case GraphOp::Kind::work:  // beside the GPU: copies and storage
      case GraphOp::Kind::load:  // until the loader had the batch
        o.kind = WorkKind::host;
        break;
      case GraphOp::Kind::collective:
        make_collective(o, s, worker, lane, op, time);
        break;
      default:
        make_message(o, s, worker, lane, op, time);
    }
    s.rank.ops.push_back(std::move(o));
  }

  void make_collective(WorkOp& o, RankState& s, std::uint32_t worker, std::size_t lane,
                       const ProgramOp& op, const OpTime& time) {
    const Transfer& transfer = program_of(worker).transfers[op.index];
    o.kind = WorkKind::collective;
    o.collective = transfer.collective;
    o.bytes = static_cast<std::int64_t>(transfer.payload_bytes);
    o.group = group_of(worker, op);
    if (o.group < 0) {
      o.group = block_group(transfer.group, s.rank.rank);
      o.match = next_own_++;
      return;
    }
    const Collected& met = collectives_.at({o.group, lane, s.order[lane][o.group]++});
    o.match = met.match;
    o.duration_s = std::max(0.0, time.end - met.last_arrival);
  }

  void make_message(WorkOp& o, RankState& s, std::uint32_t worker, std::size_t lane,
                    const ProgramOp& op, const OpTime& time) {
    const bool is_send = op.kind == GraphOp::Kind::send;
    const std::uint32_t peer = (is_send ? receiver_ : sender_).at({worker, op.peer_stage});
    const std::uint32_t repeat = s.tags[lane][{peer, op.tag}]++;
    const Sent& sent = messages_.at(is_send ? MessageKey{worker, peer, op.tag, repeat}
                                            : MessageKey{peer, worker, op.tag, repeat});
    o.kind = is_send ? WorkKind::send : WorkKind::recv;
    o.peer = job_.workers[peer].first_rank;
    o.match = sent.match;
    if (is_send)
      o.bytes = static_cast<std::int64_t>(program_of(worker).transfers[op.index].payload_bytes);
    else  // its own transfer is what the message still needed once it was awaited
      o.duration_s = std::max(0.0, time.end - std::max(time.start, sent.start));
  }

  const Job& job_;
  const StepOutcome& outcome_;
  Workload w_;
  std::vector<NameId> names_;
  NameId begin_ = 0, issue_ = 0;
  std::map<std::pair<std::uint32_t, int>, std::uint32_t> receiver_, sender_;  // (worker, stage)
  std::map<std::tuple<std::int32_t, std::size_t, std::uint32_t>, Collected> collectives_;
  std::map<MessageKey, Sent> messages_;
  std::map<std::pair<GroupKind, int>, std::int32_t> block_groups_;
  std::int64_t next_own_ = kOwnMeetings;
};
}  // namespace

Workload workload_of_step(const Job& job, const StepOutcome& outcome, const Profile& profile,
                          EngineKind engine) {
  Workload w = JobWriter(job, outcome).write();
  w.device = profile.gpu.name;
  w.notes.push_back(
      fmt::format("simulated, not recorded: profile {}, engine {}", profile.name, text_of(engine)));
  w.notes.push_back(
      "collectives inside a lockstep block carry no bytes of their own: a changed "
      "network scales their time, a changed cluster leaves it");
  if (job.is_folded) w.notes.push_back("equal replicas are folded: one rank stands for several");
  return w;
}
}  // namespace stepcast
