#include "tests/fidelity/sync/forecast.hpp"

namespace stepcast::real_sync {
namespace {
constexpr double kHostLink = 1e15;  // bytes/s; workers have no device memory of their own

ClusterSpec nodes_on_a_switch(int nodes, double bytes_per_s) {
  NodeSpec node;
  node.gpus = 1;
  node.nics = 1;
  node.nic_bandwidth = BytesPerSecond(bytes_per_s);
  node.intra = IntraTopology::single;
  ClusterSpec cluster;
  cluster.groups = {{node, nodes}};
  cluster.fabric.kind = FabricKind::single_switch;
  return cluster;
}
}  // namespace

SyncOutcome forecast(const RealJob& job, const Pieces& pieces) {
  const double push_Bps = pieces.bytes() / (pieces.push_s - pieces.round_trip_s),
               pull_Bps = pieces.bytes() / (pieces.pull_s - pieces.round_trip_s);
  SyncJob sync;
  sync.spec.mode = job.mode;
  sync.spec.staleness = job.staleness;
  sync.spec.server.count = 1;
  // A step's mean is one more pass over the parameters; the other modes add each gradient in place.
  sync.spec.server.updates = job.mode == SyncMode::bsp;
  sync.spec.server.update_passes = 1;
  sync.steps = job.steps;
  sync.global_batch = job.workers;
  sync.forward.scaled = job.sleep_s;
  sync.topology = make_topology(nodes_on_a_switch(job.workers + 1, push_Bps));
  sync.links = sync.topology->links();
  double fixed = 0;
  for (const double s : pieces.gradient_s) fixed += s / job.workers;
  sync.forward.fixed = fixed;
  for (int w = 0; w < job.workers; ++w) {
    SyncWorker worker;
    worker.node = worker.first_rank = w;
    worker.slowdown = job.slowdown_of(w);
    worker.jitter_sigma = job.sigma;
    worker.host_up = static_cast<LinkId>(sync.links.size());
    worker.host_down = worker.host_up + 1;
    sync.links.push_back({"up", BytesPerSecond(kHostLink)});
    sync.links.push_back({"down", BytesPerSecond(kHostLink)});
    sync.workers.push_back(worker);
  }
  sync.servers = {{.node = job.workers, .is_dedicated = true, .stored_bytes = pieces.bytes()}};
  SyncShare all;
  all.payload_push = all.payload_pull = all.push_bytes = all.summed_bytes = pieces.bytes();
  all.pull_bytes = pieces.bytes() * push_Bps / pull_Bps;  // ports have one rate for both ways
  all.push_startup = all.pull_startup = pieces.round_trip_s / 2;
  SyncExchange exchange;
  exchange.shares = {all};
  sync.exchanges = {exchange};
  sync.summation_Bps = pieces.bytes() / pieces.sum_s;
  const auto network = make_network(EngineKind::native);
  return run_sync(sync, *network);
}

Measured measured(const std::vector<runtime::ServedUpdate>& updates, SyncMode mode) {
  Measured result;
  const std::size_t first = updates.size() / 10;
  for (std::size_t i = first; i < updates.size(); ++i)
    ++result.staleness[mode == SyncMode::bsp
                           ? 0
                           : static_cast<std::int64_t>(i) - updates[i].read_version];
  const double seconds = updates.back().time_s - updates[first - 1].time_s;
  result.updates_per_s = static_cast<double>(updates.size() - first) / seconds;
  return result;
}
}  // namespace stepcast::real_sync
