#include "sim/engine/lowering/sync_lowering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/core/assert.hpp"
#include "sim/core/random.hpp"
#include "sim/engine/lowering/lowering.hpp"
#include "sim/engine/lowering/process_groups.hpp"
#include "sim/engine/lowering/server_shares.hpp"
#include "sim/engine/lowering/step_shape.hpp"
#include "sim/graph/gradient_reduce.hpp"
#include "sim/sync/sync_job.hpp"

namespace stepcast {
namespace {
/// Start of a copy between GPU and host memory: launch and DMA set-up of a small cudaMemcpyAsync,
/// order of 10 us.
constexpr double kHostCopyStartup_s = 10e-6;

class SyncLowering {
 public:
  SyncLowering(const Scenario& scenario, const StepGraph& graph, const ModelWork& work,
               const Profile& profile)
      : scenario_(scenario),
        work_(work),
        node_(scenario.cluster.groups.front().spec),
        model_(profile.collectives, node_, scenario.cluster.fabric,
               scenario.strategy.collective_algorithm),
        placement_(place_ranks(scenario.cluster, scenario.parallel.world(), scenario.run.seed)),
        blocks_(lockstep_blocks(scenario.parallel)) {
    Scenario unfolded = scenario;
    unfolded.run.fold = false;
    lowered_ = lower_with_doubts(unfolded, graph, profile);
    with_servers_ = scenario.cluster;
    if (scenario.sync.has_servers() &&
        scenario.sync.server.placement == ServerPlacement::dedicated) {
      NodeSpec server = node_;
      server.nics = 1;
      server.nic_bandwidth = scenario.sync.server.nic;
      with_servers_.groups.push_back({server, scenario.sync.server.count});
    }
    topology_ = make_topology(with_servers_);
  }

  LoweredSync run() {
    const SyncSpec& sync = scenario_.sync;
    job_.spec = sync;
    job_.steps = steps();
    job_.seed = scenario_.run.seed;
    job_.global_batch = static_cast<double>(scenario_.training.global_batch);
    job_.topology = topology_;
    job_.links = topology_->links();
    job_.link_events = scenario_.cluster.link_events;
    job_.summation_Bps = sync.server.summation.value;
    job_.request_s = sync.server.request.value;
    job_.host_link_startup_s = kHostCopyStartup_s;
    // BytePS lets a partition for each call of an NCCL group, and one more, be under way
    // (byteps/common/scheduled_queue.cc@0406b780); a group is 4 calls unless told otherwise
    // (NcclManager::InitGlobalEnv). Its credit stands at the local reduction, here at the network.
    constexpr int kPartitionsUnderWay = 4 + 1;
    if (sync.has_servers() && sync.server.overlap_pull)
      job_.credit_bytes = kPartitionsUnderWay * static_cast<double>(sync.server.partition.value);
    slow_links();
    add_workers();
    add_buckets();
    add_loaders();
    if (sync.has_servers())
      add_servers();
    else
      add_round();
    return {std::move(job_), site_, lowered_.doubts[lowered_.job.workers.front().program]};
  }

 private:
  /// Enough steps to see staleness settle where the scenario does not say.
  int steps() const {
    constexpr int kDefaultSteps = 40;
    const int periods = std::max(1, scenario_.sync.period);
    return scenario_.run.steps > 1 ? scenario_.run.steps : std::max(kDefaultSteps, 10 * periods);
  }
  bool is_by_node() const {
    return scenario_.sync.mode == SyncMode::hierarchical ||
           (scenario_.sync.has_servers() && scenario_.sync.server.local_reduction);
  }

  void slow_links() {
    for (const StragglerSpec& cause : scenario_.stragglers)
      if (cause.link.bandwidth_factor != 1 || cause.link.sigma > 0)
        for (int node = 0; node < scenario_.cluster.nodes(); ++node) {
          if (!names_node(cause, node)) continue;
          const double factor =
              link_factor(cause.link, scenario_.run.seed, static_cast<std::uint64_t>(node), 0);
          for (const LinkId port : {topology_->tx_port(node), topology_->rx_port(node)})
            job_.links[port].capacity = job_.links[port].capacity * factor;
        }
  }

  void add_workers() {
    const std::vector<Worker>& replicas = lowered_.job.workers;
    const double even = job_.global_batch / static_cast<double>(replicas.size());
    const double usual = gpu_seconds(replicas.front().program);
    std::map<int, std::size_t> of_node;
    for (std::size_t i = 0; i < replicas.size(); ++i) {
      const Worker& r = replicas[i];
      SyncWorker w;
      w.node = r.node;
      w.first_rank = r.first_rank;
      w.ranks = r.ranks;
      // Under load-aware batches the lowered slowdown holds the share of the samples beside the
      // slowness.
      const double slowness =
          slowness_of(blocks_.list[i].ranks, scenario_.stragglers, placement_.node).slowdown;
      const double share = scenario_.mitigation.load_aware_batches ? r.slowdown / slowness : 1;
      w.samples_per_step = even * share;
      w.slowdown = r.slowdown * (usual > 0 ? gpu_seconds(r.program) / usual : 1);
      w.jitter_sigma = r.jitter_sigma;
      w.jitter_ranks = r.jitter_ranks;
      w.pause = r.pause;
      if (r.disturbance >= 0)
        w.disturbance = lowered_.job.disturbances[static_cast<std::size_t>(r.disturbance)];
      w.loaders = loaders_of(scenario_.stragglers, scenario_.run.seed, r.first_rank, r.node);
      if (!is_by_node()) {
        replicas_of_.push_back({i});
        job_.workers.push_back(std::move(w));
        continue;
      }
      const auto [at, is_new] = of_node.try_emplace(r.node, job_.workers.size());
      if (is_new) {
        replicas_of_.push_back({i});
        job_.workers.push_back(std::move(w));
        continue;
      }
      replicas_of_[at->second].push_back(i);
      SyncWorker& node = job_.workers[at->second];
      node.ranks += w.ranks;
      node.samples_per_step += w.samples_per_step;
      node.slowdown = std::max(node.slowdown, w.slowdown);
      node.pause = std::max(node.pause, w.pause);
      if (w.jitter_sigma > 0)
        node.jitter_ranks =
            node.jitter_sigma > 0 ? node.jitter_ranks + w.jitter_ranks : w.jitter_ranks;
      node.jitter_sigma = std::max(node.jitter_sigma, w.jitter_sigma);
      for (DisturbedRank& rank : w.disturbance.ranks)
        node.disturbance.ranks.push_back(std::move(rank));
      if (node.disturbance.causes.empty())
        node.disturbance.causes = std::move(w.disturbance.causes);
      for (StorageQueue& loader : w.loaders) node.loaders.push_back(std::move(loader));
    }
    for (std::size_t i = 0; i < job_.workers.size(); ++i) {
      SyncWorker& w = job_.workers[i];
      const BytesPerSecond rate =
          scenario_.cluster.node(w.node).host_to_device * static_cast<double>(w.ranks);
      w.host_up = static_cast<LinkId>(job_.links.size());
      job_.links.push_back({fmt::format("worker{}.to_host", i), rate});
      w.host_down = static_cast<LinkId>(job_.links.size());
      job_.links.push_back({fmt::format("worker{}.from_host", i), rate});
    }
  }
  /// A worker takes the samples of its whole step at once.
  LoaderSite site_of_steps() const {
    LoaderSite site = lowered_.loaders;
    site.batch_samples *= site.batches_per_step;
    site.round_samples *= site.batches_per_step;
    site.batches_per_step = 1;
    site.consumers.clear();
    return site;
  }
  void add_loaders() {
    if (!scenario_.data) return;
    site_ = site_of_steps();
    for (std::size_t w = 0; w < job_.workers.size(); ++w) {
      job_.workers[w].loader = static_cast<std::int32_t>(w);
      std::vector<std::uint32_t>& processes = site_.consumers.emplace_back();
      for (const std::size_t replica : replicas_of_[w]) {
        const auto& own = lowered_.loaders.consumers[replica];
        processes.insert(processes.end(), own.begin(), own.end());
      }
    }
    job_.supply = std::make_shared<DataSupply>(supply_spec(*scenario_.data, site_));
    double step = 0;
    for (const SyncCompute& part : {job_.forward, job_.middle, job_.tail})
      step += part.scaled + part.fixed;
    for (const SyncExchange& e : job_.exchanges) step += e.backward.scaled + e.backward.fixed;
    job_.supply->settle_in(step, 1);
  }

  double gpu_seconds(std::uint32_t program) const {
    double seconds = 0;
    for (const ProgramOp& op :
         lowered_.job.programs[program].lanes[static_cast<std::size_t>(Lane::compute)])
      if (op.kind == GraphOp::Kind::work)
        seconds += lowered_.job.programs[program].segments[op.index].scaled;
    return seconds;
  }

  /// Ranks of one worker that hold the same parameters, and the parts the parameters are cut into
  /// (tensor parallel ranks).
  int parts() const { return scenario_.parallel.tp; }
  int peers_inside() const { return is_by_node() ? job_.workers.front().ranks / parts() : 1; }

  void add_buckets() {
    const int replicas = group_size(GroupKind::dp, scenario_.parallel);
    const StepShape shape =
        step_shape(lowered_.job.programs[lowered_.job.workers.front().program], lowered_.job.names,
                   is_gathered(scenario_.compression.scheme) ? replicas : 1);
    job_.forward = shape.forward;
    job_.middle = shape.middle;
    job_.tail = shape.tail;
    job_.optimizer = shape.optimizer;
    payloads_.clear();
    for (const StepShape::Bucket& b : shape.buckets) {
      SyncExchange e{.backward = b.backward, .encode_s = b.encode_s, .decode_s = b.decode_s};
      if (const int inside = peers_inside(); inside > 1) {
        const GroupShape local{inside, 1, inside, 0};
        const Bytes bytes(static_cast<std::int64_t>(b.payload_bytes));
        const auto time = [&](Collective c) {
          const CollectiveTerms t = model_.terms(c, bytes, local);
          return t.startup.value + t.intra.value;
        };
        if (scenario_.sync.mode == SyncMode::hierarchical)
          e.reduce_s = time(Collective::all_reduce);
        else
          e.reduce_s = time(Collective::reduce_scatter),
          e.broadcast_s = time(Collective::all_gather);
      }
      payloads_.push_back(b.payload_bytes);
      job_.exchanges.push_back(std::move(e));
    }
  }

  CollectiveTerms message_terms(double bytes) const {
    int hops = 0;
    const int a = job_.workers.front().node;
    for (int node = 0; node < with_servers_.nodes(); ++node)
      if (node != a) hops = std::max(hops, topology_->hops(a, node));
    return model_.terms(Collective::send_recv, Bytes(static_cast<std::int64_t>(bytes)),
                        GroupShape{2, 2, 1, hops});
  }

  void add_servers() {
    const ServerSpec& spec = scenario_.sync.server;
    for (int s = 0; s < spec.count; ++s)
      job_.servers.push_back({.node = spec.placement == ServerPlacement::dedicated
                                          ? scenario_.cluster.nodes() + s
                                          : s * scenario_.cluster.nodes() / spec.count,
                              .is_dedicated = spec.placement == ServerPlacement::dedicated,
                              .stored_bytes = 0});
    const StageContext context(scenario_, work_, 0);
    const bool averages = scenario_.sync.mode == SyncMode::elastic;
    const ServerShares dealt = deal_to_servers(context, payloads_, averages, parts());
    STEPCAST_ASSERT(dealt.by_exchange.size() == job_.exchanges.size(),
                    "the graph and the servers cut the same buckets");
    for (std::size_t e = 0; e < dealt.by_exchange.size(); ++e)
      for (const ServerShares::Part& part : dealt.by_exchange[e]) {
        SyncShare share;
        share.server = static_cast<std::uint32_t>(part.server);
        share.payload_push = part.push_bytes;
        share.payload_pull = part.pull_bytes;
        share.summed_bytes = part.summed_bytes;
        const CollectiveTerms push = message_terms(part.push_bytes),
                              pull = message_terms(part.pull_bytes);
        share.push_startup = push.startup.value;
        share.pull_startup = pull.startup.value;
        share.push_bytes = push.edge_bytes;
        share.pull_bytes = pull.edge_bytes;
        job_.exchanges[e].shares.push_back(share);
      }
    for (std::size_t s = 0; s < job_.servers.size(); ++s)
      job_.servers[s].stored_bytes = dealt.stored_bytes[s];
    if (averages)
      for (SyncExchange& e : job_.exchanges) e.encode_s = e.decode_s = e.reduce_s = 0;
    // A server that updates answers with parameters, which were never encoded.
    if (spec.updates)
      for (SyncExchange& e : job_.exchanges) e.decode_s = 0;
  }

  void add_round() {
    const StageContext context(scenario_, work_, 0);
    const auto parameters =
        static_cast<double>(context.dense_parameters() * context.gradient_element_bytes());
    double gradients = 0;
    for (const double p : payloads_) gradients += p;
    const bool averages = scenario_.sync.mode != SyncMode::bsp;
    const double bytes = averages ? parameters : gradients;
    const CollectiveTerms message = message_terms(parameters * parts());
    job_.message_startup_s = message.startup.value;
    job_.message_bytes = message.edge_bytes;
    job_.payload_message_bytes = parameters * parts();
    if (scenario_.sync.mode == SyncMode::gossip) return;
    const std::vector<ProcessGroup> groups = process_groups(
        GroupKind::dp, scenario_.parallel, placement_, blocks_, *topology_, scenario_.run.seed);
    STEPCAST_ASSERT(groups.size() == 1, "replicas within nodes share one data-parallel group");
    const ProcessGroup& group = groups.front();
    const bool gathers =
        !averages && is_gathered(scenario_.compression.scheme) && !job_.exchanges.empty();
    const CollectiveTerms terms =
        gathers
            ? model_.terms(Collective::all_gather,
                           Bytes(static_cast<std::int64_t>(bytes * group.shape.ranks)), group.shape)
            : model_.terms(Collective::all_reduce, Bytes(static_cast<std::int64_t>(bytes)),
                           group.shape);
    double code = 0;
    for (const SyncExchange& e : job_.exchanges) code += e.decode_s;
    job_.round.startup_s = terms.startup.value + (averages ? 0 : code);
    job_.round.intra_s = terms.intra.value;
    for (const auto& [ends, weight] : group.edges) {
      SyncRound::Edge edge;
      const std::uint64_t hash =
          mixed_bits(mixed_bits(scenario_.run.seed, static_cast<std::uint64_t>(ends.first)),
                     static_cast<std::uint64_t>(ends.second));
      topology_->append_route(ends.first, ends.second, hash, edge.route);
      edge.bytes = terms.edge_bytes * weight;
      job_.round.payload_bytes += terms.payload_edge_bytes * weight;
      job_.round.edges.push_back(std::move(edge));
    }
  }

  const Scenario& scenario_;
  const ModelWork& work_;
  const NodeSpec& node_;
  CollectiveModel model_;
  Placement placement_;
  Blocks blocks_;
  Lowered lowered_;
  ClusterSpec with_servers_;
  std::shared_ptr<const Topology> topology_;
  std::vector<double> payloads_;  // by exchange, one rank's
  LoaderSite site_;
  std::vector<std::vector<std::size_t>> replicas_of_;  // by worker
  SyncJob job_;
};
}  // namespace

LoweredSync lower_sync(const Scenario& scenario, const StepGraph& graph, const ModelWork& work,
                       const Profile& profile) {
  return SyncLowering(scenario, graph, work, profile).run();
}
}  // namespace stepcast
