#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "sim/core/assert.hpp"
#include "sim/core/random.hpp"
#include "sim/engine/lowering/folding.hpp"
#include "sim/engine/lowering/link_book.hpp"
#include "sim/engine/lowering/loader_lowering.hpp"
#include "sim/engine/lowering/lowering.hpp"
#include "sim/profile/parameters.hpp"
#include "sim/straggler/load_shares.hpp"

namespace stepcast {
namespace {

/// Kinds of process groups that any op of the graph uses.
std::set<GroupKind> used_kinds(const StepGraph& graph) {
  std::set<GroupKind> kinds;
  for (const StageGraph& stage : graph.stages) {
    for (const GraphOp& op : stage.ops)
      if (op.kind == GraphOp::Kind::collective) kinds.insert(op.group);
    for (const WorkList& list : stage.works)
      for (const Op& op : list.ops)
        if (const auto* shape = std::get_if<CollectiveShape>(&op.shape)) kinds.insert(shape->group);
  }
  return kinds;
}

/// The whole lowering of one scenario, kept together because its parts share the geometry.
class Lowering {
 public:
  Lowering(const Scenario& scenario, const StepGraph& graph, const Profile& profile,
           const Exemptions& exempt)
      : scenario_(scenario),
        graph_(graph),
        profile_(profile),
        exempt_(exempt),
        topology_(make_topology(scenario.cluster)),
        placement_(place_ranks(scenario.cluster, scenario.parallel.world(), scenario.run.seed)),
        blocks_(lockstep_blocks(scenario.parallel)),
        links_(*topology_, scenario.cluster) {
    for (GroupKind kind : used_kinds(graph))
      for (ProcessGroup& group : process_groups(kind, scenario.parallel, placement_, blocks_,
                                                *topology_, scenario.run.seed))
        groups_.push_back(std::move(group));
    paths_ = message_paths(scenario.parallel, placement_, blocks_, *topology_);
    folding_ = fold(scenario, placement_, blocks_, groups_, paths_, *topology_);
  }

  Lowered lower() {
    Job& job = result_.job;
    job.seed = job.run_seed = scenario_.run.seed;
    job.is_folded = folding_.is_folded;
    job.link_events = scenario_.cluster.link_events;
    job.compute_slowdown_in_overlap = profile_.kernels.overlap_slowdown_compute;
    job.collective_slowdown_in_overlap = profile_.kernels.overlap_slowdown_comm;
    job.compute_slowdown_beside_codec =
        parameter(profile_.kernels.parameters, "overlap_slowdown_kernels", 1);
    add_workers();
    result_.loaders = loader_site(scenario_, placement_, worker_blocks_, job);
    share_load();
    add_groups();
    add_channels();
    add_programs();
    links_.hand_over(job);
    return std::move(result_);
  }

 private:
  std::size_t block_index(const Block& block) const {
    return static_cast<std::size_t>(block.stage * blocks_.replicas + block.replica);
  }
  int node_of(int rank) const { return placement_.node[static_cast<std::size_t>(rank)]; }

  void add_workers() {
    worker_of_block_.assign(blocks_.list.size(), -1);
    std::vector<int> kept = folding_.kept_replicas;
    std::sort(kept.begin(), kept.end());
    for (const Block& block : blocks_.list) {
      if (!std::binary_search(kept.begin(), kept.end(), block.replica)) continue;
      worker_of_block_[block_index(block)] = static_cast<int>(result_.job.workers.size());
      Worker worker;
      worker.stage = block.stage;
      worker.replica = block.replica;
      worker.first_rank = block.ranks.front();
      worker.ranks = static_cast<int>(block.ranks.size());
      worker.node = node_of(block.ranks.front());
      worker.multiplicity = folding_.multiplicity;
      worker.group.fill(-1);
      BlockSlowness slow = slowness_of(suspects(block), scenario_.stragglers, placement_.node);
      worker.slowdown = slow.slowdown;
      if (!slow.disturbance.empty()) {
        worker.disturbance = static_cast<std::int32_t>(result_.job.disturbances.size());
        result_.job.disturbances.push_back(std::move(slow.disturbance));
      }
      worker.jitter_sigma = slow.jitter_sigma;
      worker.jitter_ranks = slow.jitter_ranks;
      worker.pause = slow.pause;
      BlockView view;
      view.stage = block.stage;
      view.hardware = slowest_hardware(block);
      view.op_slowdown = std::move(slow.op_slowdown);
      views_.push_back(std::move(view));
      worker_blocks_.push_back(&block);
      result_.job.workers.push_back(worker);
    }
  }

  /// Ranks of a block that may be slow.
  std::vector<int> suspects(const Block& block) const {
    if (exempt_.stages.contains(block.stage)) return {};
    std::vector<int> ranks;
    for (const int rank : block.ranks)
      if (!exempt_.nodes.contains(node_of(rank))) ranks.push_back(rank);
    return ranks;
  }

  /// Samples go where they are finished soonest; those of nodes that are gone are dealt out among
  /// the rest.
  void share_load() {
    std::vector<Worker>& workers = result_.job.workers;
    const int nodes = scenario_.cluster.nodes();
    if (exempt_.evicted_without_spare > 0 && exempt_.evicted_without_spare < nodes)
      for (Worker& worker : workers)
        worker.slowdown *= static_cast<double>(nodes) / (nodes - exempt_.evicted_without_spare);
    if (!scenario_.mitigation.load_aware_batches || folding_.is_folded) return;
    std::vector<double> slowdowns(static_cast<std::size_t>(blocks_.replicas), 1);
    for (const Worker& worker : workers) {
      double mine = worker.slowdown;
      if (worker.disturbance >= 0)
        mine *=
            lasting_slowdown(result_.job.disturbances[static_cast<std::size_t>(worker.disturbance)],
                             scenario_.run.seed);
      slowdowns[static_cast<std::size_t>(worker.replica)] =
          std::max(slowdowns[static_cast<std::size_t>(worker.replica)], mine);
    }
    if (scenario_.training.global_batch < blocks_.replicas) return;
    const std::vector<double> shares = load_shares(slowdowns, scenario_.training.global_batch);
    for (Worker& worker : workers)
      worker.slowdown *= shares[static_cast<std::size_t>(worker.replica)];
  }

  /// Lockstep ranks wait for their slowest: the node group whose GPU has the lowest peak.
  std::size_t slowest_hardware(const Block& block) const {
    const auto group_of_node = [&](int node) {
      std::size_t group = 0;
      while (node >= scenario_.cluster.groups[group].count)
        node -= scenario_.cluster.groups[group++].count;
      return group;
    };
    const auto peak = [&](std::size_t group) {
      return scenario_.cluster.groups[group].spec.gpu.peak(scenario_.training.precision).value;
    };
    std::size_t slowest = group_of_node(node_of(block.ranks.front()));
    for (int rank : block.ranks)
      if (const std::size_t group = group_of_node(node_of(rank)); peak(group) < peak(slowest))
        slowest = group;
    return slowest;
  }

  int kept_node(int node) const {
    return folding_.is_folded ? folding_.node_to_kept[static_cast<std::size_t>(node)] : node;
  }
  bool is_kept_node(int node) const { return !folding_.is_folded || kept_node(node) == node; }

  Edge edge_of(const std::string& name, int a, int b, double weight, int gpus_a, int gpus_b) {
    Edge edge{{}, weight};
    const int from = kept_node(a), to = kept_node(b);
    links_.append_cap(fmt::format("node{}.tx {}", from, name), from, gpus_a, edge.route);
    std::uint64_t hash =
        mixed_bits(mixed_bits(scenario_.run.seed, static_cast<std::uint64_t>(from)),
                   static_cast<std::uint64_t>(to));
    for (char c : name) hash = mixed_bits(hash, static_cast<std::uint64_t>(c));
    links_.append_route(from, to, hash, folding_.is_folded, edge.route);
    links_.append_cap(fmt::format("node{}.rx {}", to, name), to, gpus_b, edge.route);
    return edge;
  }

  void add_groups() {
    for (const ProcessGroup& group : groups_) {
      std::vector<std::uint32_t> workers;
      for (int block : group.blocks)
        if (const int worker = worker_of_block_[static_cast<std::size_t>(block)]; worker >= 0)
          workers.push_back(static_cast<std::uint32_t>(worker));
      if (workers.empty()) continue;
      const auto index = static_cast<std::int32_t>(result_.job.groups.size());
      const auto kind = static_cast<std::size_t>(group.kind);
      for (std::uint32_t worker : workers) {
        result_.job.workers[worker].group[kind] = index;
        views_[worker].shape[kind] = group.shape;
      }
      Group out{group.kind, std::move(workers), {}};
      const std::string name = fmt::format("{}{}", text_of(group.kind), index);
      std::map<NodePair, Edge> merged;  // folded edges may fall together
      for (const auto& [ends, weight] : group.edges) {
        if (!is_kept_node(ends.first)) continue;
        const int to = folding_.is_folded ? folded_destination(group.kind, ends) : ends.second;
        const auto [at, is_new] = merged.try_emplace({kept_node(ends.first), kept_node(to)});
        if (is_new)
          at->second = edge_of(name, ends.first, to, weight, group.gpus_on_node.at(ends.first),
                               group.gpus_on_node.at(to));
        else
          at->second.weight += weight;
      }
      for (auto& [ends, edge] : merged) out.edges.push_back(std::move(edge));
      result_.job.groups.push_back(std::move(out));
    }
  }

  void add_channels() {
    for (const MessagePath& path : paths_) {
      const int from = worker_of_block_[static_cast<std::size_t>(path.from)],
                to = worker_of_block_[static_cast<std::size_t>(path.to)];
      if (from < 0) continue;
      STEPCAST_ASSERT(to >= 0, "a replica is kept in all stages or in none");
      Channel channel{
          static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to), {}, Seconds(0)};
      const std::string name = fmt::format("p2p{}-{}", from, to);
      for (const auto& [ends, weight] : path.edges)
        channel.edges.push_back(edge_of(name, ends.first, ends.second, weight,
                                        path.gpus_on_source.at(ends.first),
                                        path.gpus_on_destination.at(ends.second)));
      views_[static_cast<std::size_t>(from)]
          .message[blocks_.list[static_cast<std::size_t>(path.to)].stage] = path.shape;
      result_.job.channels.push_back(std::move(channel));
    }
    std::sort(result_.job.channels.begin(), result_.job.channels.end(),
              [](const Channel& a, const Channel& b) {
                return std::pair(a.from, a.to) < std::pair(b.from, b.to);
              });
  }

  void add_programs() {
    std::vector<std::unique_ptr<ProgramLowering>> by_hardware(scenario_.cluster.groups.size());
    std::map<std::vector<double>, std::uint32_t> known;
    std::vector<double> leads;  // by program
    for (std::size_t worker = 0; worker < views_.size(); ++worker) {
      const BlockView& view = views_[worker];
      const auto [at, is_new] =
          known.try_emplace(view.key(), static_cast<std::uint32_t>(result_.job.programs.size()));
      result_.job.workers[worker].program = at->second;
      if (!is_new) {
        result_.job.workers[worker].host_lead = leads[at->second];
        continue;
      }
      auto& lowering = by_hardware[view.hardware];
      if (!lowering)
        lowering = std::make_unique<ProgramLowering>(
            scenario_, profile_, scenario_.cluster.groups[view.hardware].spec, result_.job.names);
      LoweredProgram lowered =
          lowering->lower(graph_.stages[static_cast<std::size_t>(view.stage)], view);
      leads.push_back(host_lead(lowered.program));
      result_.job.workers[worker].host_lead = leads.back();
      result_.job.programs.push_back(std::move(lowered.program));
      result_.doubts.push_back(std::move(lowered.doubts));
    }
  }

  /// A host that need not wait for the GPU at the step's end runs ahead by what it saves per step,
  /// until the launch queue is full: 1024 kernels (CUDA's queue depth per stream, seen as blocking
  /// launches; not documented by the vendor).
  double host_lead(const Program& program) const {
    constexpr double kQueuedKernels = 1024;
    if (scenario_.strategy.blocking_step_end) return 0;
    double gpu = 0, host = 0, kernels = 0;
    for (const ProgramOp& op : program.lanes[static_cast<std::size_t>(Lane::compute)]) {
      if (op.kind != GraphOp::Kind::work) continue;
      const Segment& segment = program.segments[op.index];
      gpu += segment.scaled + segment.fixed;
      host += segment.host;
      kernels += static_cast<double>(segment.pieces.size());
    }
    return kernels > 0 ? std::clamp(gpu - host, 0.0, kQueuedKernels * gpu / kernels) : 0;
  }

  const Scenario& scenario_;
  const StepGraph& graph_;
  const Profile& profile_;
  const Exemptions& exempt_;
  std::unique_ptr<Topology> topology_;
  Placement placement_;
  Blocks blocks_;
  LinkBook links_;
  std::vector<ProcessGroup> groups_;
  std::vector<MessagePath> paths_;
  Folding folding_;
  std::vector<int> worker_of_block_;
  std::vector<BlockView> views_;  // by worker
  std::vector<const Block*> worker_blocks_;
  Lowered result_;
};
}  // namespace

Lowered lower_with_doubts(const Scenario& scenario, const StepGraph& graph, const Profile& profile,
                          const Exemptions& exempt) {
  return Lowering(scenario, graph, profile, exempt).lower();
}

Job lower(const Scenario& scenario, const StepGraph& graph, const ModelWork& /*work*/,
          const Profile& profile, std::vector<Extrapolation>* extrapolated) {
  Lowered lowered = lower_with_doubts(scenario, graph, profile);
  if (extrapolated != nullptr) {
    Doubts worst;
    for (const Doubts& doubts : lowered.doubts)
      for (const auto& [what, doubt] : doubts.extrapolated)
        if (auto& mine = worst.extrapolated[what]; mine.seconds < doubt.seconds) mine = doubt;
    // Seconds until the caller divides by the step it simulated.
    for (const auto& [what, doubt] : worst.extrapolated)
      extrapolated->push_back({what, doubt.nearest_measured, doubt.seconds});
  }
  return std::move(lowered.job);
}
}  // namespace stepcast
