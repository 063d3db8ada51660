#include "sim/engine/lowering/program_lowering.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/core/assert.hpp"
#include "sim/engine/lowering/work_lowering.hpp"
#include "sim/profile/parameters.hpp"
#include "sim/scenario/slowest_board.hpp"
#include "sim/timeline/host_op_names.hpp"
#include "sim/timeline/op_names.hpp"

namespace stepcast {

std::vector<double> BlockView::key() const {
  std::vector<double> key{static_cast<double>(stage), static_cast<double>(hardware)};
  const auto add = [&](const GroupShape& s) {
    for (int part : {s.ranks, s.nodes, s.ranks_per_node, s.max_hops}) key.push_back(part);
  };
  for (const GroupShape& s : shape) add(s);
  for (const auto& [peer, s] : message) {
    key.push_back(peer);
    add(s);
  }
  for (const auto& [name, factor] : op_slowdown) {
    key.push_back(factor);
    for (char c : name) key.push_back(c);
    key.push_back(-1);
  }
  return key;
}

void Doubts::add(const Doubts& other, double times) {
  for (const auto& [what, doubt] : other.extrapolated) {
    Extrapolated& mine = extrapolated[what];
    mine.nearest_measured = doubt.nearest_measured;
    mine.seconds += doubt.seconds * times;
  }
  for (const auto& [name, seconds] : other.sigma_seconds) sigma_seconds[name] += seconds * times;
}
double Doubts::sigma() const {
  double squares = 0;
  for (const auto& [name, seconds] : sigma_seconds) squares += seconds * seconds;
  return std::sqrt(squares);
}

namespace {
CodecFactors codec_factors(const Profile& profile, const std::string& scheme) {
  return {parameter(profile.kernels.parameters, "encode_factor_" + scheme, 1),
          parameter(profile.kernels.parameters, "decode_factor_" + scheme, 1)};
}
CostOptions cost_options(const Scenario& scenario, const GpuSpec& gpu) {
  CostOptions options;
  options.host = scenario.strategy.host;
  options.framework = scenario.strategy.framework;
  options.host_scale = scenario.strategy.host_scale;
  options.fusion = scenario.training.fusion;
  options.attention_kernel = scenario.training.attention_kernel;
  options.slowest_board = slowest_board(scenario, gpu);
  return options;
}

/// Writes the lanes of one program.
class LaneWriter {
 public:
  explicit LaneWriter(Program& program) : program_(program) {}
  /// Appends an op that waits for `after` (positions as returned by this function).
  Dependency append(ProgramOp op, const std::vector<Dependency>& after) {
    auto& lane = program_.lanes[static_cast<std::size_t>(op.lane)];
    op.first_dependency = static_cast<std::uint32_t>(program_.dependencies.size());
    for (const Dependency& d : after)
      if (d.lane != op.lane) program_.dependencies.push_back(d);  // a lane keeps its own order
    op.dependency_count =
        static_cast<std::uint32_t>(program_.dependencies.size()) - op.first_dependency;
    lane.push_back(op);
    return {op.lane, static_cast<std::uint32_t>(lane.size()) - 1};
  }

 private:
  Program& program_;
};
}  // namespace

double CodecFactors::of(const std::string& op_name) const {
  return op_name == op::encode ? encode : op_name == op::decode ? decode : 1;
}

namespace {
bool has_loss(const ParallelLayout& layout, int stage, int chunk) {
  return stage + 1 == layout.pp && chunk + 1 == layout.virtual_stages;
}
/// The first chunk takes the tokens, the last one the labels; tensor-parallel peers get them from
/// one of them.
bool loads_batch(const ParallelLayout& layout, int stage, int chunk) {
  return layout.tp > 1 && ((stage == 0 && chunk == 0) || has_loss(layout, stage, chunk));
}

bool can_be_kept_on_lane(const GraphOp& op, const StageGraph& graph) {
  for (int dependency : op.after)
    if (graph.ops[static_cast<std::size_t>(dependency)].lane == op.lane &&
        dependency > static_cast<int>(&op - graph.ops.data()))
      return false;
  return true;
}
}  // namespace

ProgramLowering::ProgramLowering(const Scenario& scenario, const Profile& profile,
                                 const NodeSpec& node, NameTable& names)
    : scenario_(scenario),
      node_(node),
      names_(names),
      cost_(profile, node.gpu, cost_options(scenario, node.gpu)),
      codec_(codec_factors(profile, std::string(text_of(scenario.compression.scheme)))),
      step_edges_s_(parameter(profile.kernels.parameters, "step_edges_us", 0) * 1e-6),
      hand_over_s_(parameter(profile.kernels.parameters, "stream_hand_over_us", 0) * 1e-6),
      overlap_slowdown_comm_(profile.kernels.overlap_slowdown_comm),
      habits_(profile, scenario.strategy.framework),
      collectives_(profile.collectives, node, scenario.cluster.fabric,
                   scenario.strategy.collective_algorithm) {}

CollectiveHabits::CollectiveHabits(const Profile& profile, const std::string& framework) {
  const auto habit = [&](const char* name, double fallback) {
    return parameter(profile.kernels.parameters, std::string(name) + "/" + framework, fallback);
  };
  issue_s = habit("collective_issue_us", 0) * 1e-6;
  issue_per_peer_s = habit("collective_issue_us_per_peer", 0) * 1e-6;
  wait_per_peer_s = habit("collective_wait_us_per_peer", 0) * 1e-6;
  per_layer = std::max(1.0, habit("collectives_per_layer", 1));
  list_copy_s = habit("list_copy_us", 0) * 1e-6;
}

/// A collective of the step graph. ZeRO-3 may move a layer's tensors one after the other, and copy
/// every member's share between its list and the flat buffer that travels.
CollectiveTerms ProgramLowering::terms_of(const GraphOp& op, const GroupShape& shape) const {
  const bool moves_shards = op.kind == GraphOp::Kind::collective &&
                            scenario_.parallel.zero_stage >= 3 &&
                            (op.lane == Lane::gradient || op.lane == Lane::gather);
  if (!moves_shards) return collectives_.terms(op.collective, op.buffer, shape);
  const double calls = habits_.per_layer;
  const Bytes each(static_cast<std::int64_t>(static_cast<double>(op.buffer.value) / calls));
  CollectiveTerms terms = collectives_.terms(op.collective, each, shape);
  terms.startup = (terms.startup + Seconds(habits_.list_copy_s * shape.ranks)) * calls;
  terms.intra = terms.intra * calls;
  terms.edge_bytes *= calls;
  terms.payload_edge_bytes *= calls;
  return terms;
}

LoweredProgram ProgramLowering::lower(const StageGraph& graph, const BlockView& view) const {
  LoweredProgram result;
  Program& program = result.program;
  struct PassOfBatch {
    int micro_batch = -1, chunk = 0;
    bool is_forward = true;
    bool operator==(const PassOfBatch&) const = default;
  } current;
  LaneWriter lanes(program);
  WorkLowering works(scenario_, cost_, codec_, collectives_, habits_, node_, view, names_, program);
  std::vector<std::optional<LoweredWork>> lowered(graph.works.size());
  std::vector<Dependency> done(graph.ops.size());  // last program op of every graph op
  std::vector<char> exists(graph.ops.size(), 0);   // 0: nothing of it takes time here

  const auto idle = [&](double seconds, const std::vector<Dependency>& after) {
    if (seconds <= 0) return;
    ProgramOp gap{.lane = Lane::compute,
                  .category = Category::launch_gap,
                  .name = names_.id_of(std::string(op::hand_over)),
                  .index = static_cast<std::uint32_t>(program.segments.size())};
    Segment hold;
    hold.fixed = seconds;
    hold.by_category[static_cast<std::size_t>(Category::launch_gap)] = seconds;
    program.segments.push_back(std::move(hold));
    lanes.append(gap, after);
  };
  idle(step_edges_s_, {});
  bool is_handed_over = false;

  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const GraphOp& op = graph.ops[i];
    STEPCAST_ASSERT(can_be_kept_on_lane(op, graph),
                    "an op waits for earlier ops of its own lane only");
    std::vector<Dependency> after;
    for (int dependency : op.after)
      if (exists[static_cast<std::size_t>(dependency)])
        after.push_back(done[static_cast<std::size_t>(dependency)]);
    ProgramOp out{.kind = op.kind,
                  .lane = op.lane,
                  .category = op.category,
                  .name = names_.id_of(op.name),
                  .peer_stage = op.peer_stage,
                  .tag = op.tag,
                  .micro_batch = op.micro_batch,
                  .chunk = op.chunk};
    exists[i] = 1;
    if (op.kind == GraphOp::Kind::load) {
      done[i] = lanes.append(out, after);
      continue;
    }
    if (op.kind != GraphOp::Kind::work) {
      if (op.kind != GraphOp::Kind::recv) {
        const GroupShape shape = op.kind == GraphOp::Kind::send
                                     ? view.message.at(op.peer_stage)
                                     : view.shape[static_cast<std::size_t>(op.group)];
        CollectiveTerms terms = terms_of(op, shape);
        if (terms.is_extrapolated) {
          Doubts::Extrapolated& doubt =
              result.doubts.extrapolated[std::string(text_of(op.collective)) + " over " +
                                         std::string(text_of(op.group))];
          doubt.nearest_measured = terms.nearest_measured;
          doubt.seconds += terms.startup.value + terms.intra.value;
        }
        // Beside compute a collective shares the device with it; the bytes that count stay what
        // they are. Gradients that leave behind the backward have nothing beside them. Of the part
        // inside nodes the executor knows when something is.
        if (op.kind == GraphOp::Kind::collective &&
            ((op.lane == Lane::gradient && scenario_.strategy.overlap_grad_reduce) ||
             op.lane == Lane::gather)) {
          terms.edge_bytes *= overlap_slowdown_comm_;
        }
        out.index = static_cast<std::uint32_t>(program.transfers.size());
        program.transfers.push_back(
            {terms, op.group, static_cast<double>(op.buffer.value), op.collective, shape.ranks});
      }
      done[i] = lanes.append(out, after);
      continue;
    }
    if (op.work < 0) {
      out.index = static_cast<std::uint32_t>(program.segments.size());
      Segment hold;
      hold.fixed = op.hold_s;
      hold.by_category[static_cast<std::size_t>(op.category)] = op.hold_s;
      program.segments.push_back(std::move(hold));
      done[i] = lanes.append(out, after);
      continue;
    }
    out.host_waits = scenario_.strategy.p2p_blocks_host &&
                     std::any_of(after.begin(), after.end(), [](const Dependency& d) {
                       return d.lane == Lane::recv || d.lane == Lane::send;
                     });
    if (op.micro_batch >= 0) {
      const PassOfBatch now{op.micro_batch, op.chunk, op.name == phase::forward};
      const StrategySpec& strategy = scenario_.strategy;
      if (now != current &&
          (now.is_forward
               ? strategy.batch_blocks_host && loads_batch(scenario_.parallel, view.stage, op.chunk)
               : strategy.loss_blocks_host && has_loss(scenario_.parallel, view.stage, op.chunk)))
        out.host_waits = true;
      current = now;
    }
    // The last bucket's stream was waiting for the backward, now compute waits for that stream;
    // what waits for gradients behind it finds them there.
    if (op.lane == Lane::compute && !is_handed_over &&
        std::any_of(after.begin(), after.end(),
                    [](const Dependency& d) { return d.lane == Lane::gradient; })) {
      idle(2 * hand_over_s_, after);
      is_handed_over = true;
    }
    std::optional<LoweredWork>& work = lowered[static_cast<std::size_t>(op.work)];
    if (!work) work = works.lower(graph.works[static_cast<std::size_t>(op.work)], op.category);
    result.doubts.add(work->doubts, 1);
    if (work->items.empty()) {
      // Nothing to run (a chunk without layers): an empty segment keeps the order.
      work->items.push_back({WorkItem::Kind::segment,
                             static_cast<std::uint32_t>(program.segments.size()), op.category,
                             out.name});
      program.segments.emplace_back();
    }
    std::vector<Dependency> beside;
    bool segment_since_beside = false;
    for (const WorkItem& item : work->items) {
      ProgramOp part = out;
      part.index = item.index;
      part.category = item.category;
      part.name = item.name;
      if (item.kind == WorkItem::Kind::beside) {
        part.kind = GraphOp::Kind::collective;
        part.lane = Lane::gather;
        std::vector<Dependency> start = after;
        if (!program.lanes[static_cast<std::size_t>(op.lane)].empty())
          start.push_back({op.lane, static_cast<std::uint32_t>(
                                        program.lanes[static_cast<std::size_t>(op.lane)].size()) -
                                        1});
        beside.push_back(lanes.append(part, start));
        segment_since_beside = false;
        continue;
      }
      // The attention that hides an exchange runs beside it; what follows the attention needs both.
      if (segment_since_beside) {
        after.insert(after.end(), beside.begin(), beside.end());
        beside.clear();
      }
      if (item.kind == WorkItem::Kind::transfer) part.kind = GraphOp::Kind::collective;
      done[i] = lanes.append(part, after);
      after.clear();
      segment_since_beside = !beside.empty();
    }
    if (!beside.empty()) {
      // The list ended with the attention: an empty segment waits for the exchange.
      ProgramOp wait = out;
      wait.index = static_cast<std::uint32_t>(program.segments.size());
      program.segments.emplace_back();
      done[i] = lanes.append(wait, beside);
    }
  }
  return result;
}
}  // namespace stepcast
