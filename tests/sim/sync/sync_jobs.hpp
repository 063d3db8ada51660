#pragma once
#include "sim/sync/sync_job.hpp"

/// Replicas on nodes of one GPU behind one switch, with round numbers: ports of 1 GB/s, host links
/// that never limit.
namespace stepcast::test {

inline ClusterSpec switched_nodes(int nodes) {
  NodeSpec node;
  node.gpus = 1;
  node.nics = 1;
  node.nic_bandwidth = BytesPerSecond(1e9);
  node.intra = IntraTopology::single;
  ClusterSpec cluster;
  cluster.groups = {{node, nodes}};
  cluster.fabric.kind = FabricKind::single_switch;
  return cluster;
}

/// `workers` nodes; `servers` further nodes (dedicated). forward 1 s, one bucket whose backward
/// takes 2 s.
inline SyncJob sync_job(SyncMode mode, int workers, int servers, double bucket_bytes) {
  SyncJob job;
  job.spec.mode = mode;
  job.spec.server.count = servers;
  job.spec.server.updates = false;
  job.steps = 20;
  job.global_batch = workers;
  job.forward = {1, 0};
  job.topology = make_topology(switched_nodes(workers + servers));
  job.links = job.topology->links();
  for (int w = 0; w < workers; ++w) {
    SyncWorker worker;
    worker.node = w;
    worker.first_rank = w;
    worker.host_up = static_cast<LinkId>(job.links.size());
    job.links.push_back({"up", BytesPerSecond(1e15)});
    worker.host_down = static_cast<LinkId>(job.links.size());
    job.links.push_back({"down", BytesPerSecond(1e15)});
    job.workers.push_back(worker);
  }
  for (int s = 0; s < servers; ++s) job.servers.push_back({workers + s, true, 0});
  SyncExchange bucket;
  bucket.backward = {2, 0};
  for (int s = 0; s < servers; ++s) {
    SyncShare share;
    share.server = static_cast<std::uint32_t>(s);
    share.push_bytes = share.pull_bytes = share.payload_push = share.payload_pull =
        bucket_bytes / servers;
    share.summed_bytes = bucket_bytes / servers;
    bucket.shares.push_back(share);
  }
  job.exchanges = {bucket};
  job.summation_Bps = 1e15;
  return job;
}
inline SyncOutcome run(const SyncJob& job, EngineKind engine = EngineKind::native) {
  const auto network = make_network(engine);
  return run_sync(job, *network);
}
}  // namespace stepcast::test
