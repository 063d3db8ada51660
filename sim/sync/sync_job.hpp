#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/cluster/cluster_spec.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/data/supply.hpp"
#include "sim/engine/network.hpp"
#include "sim/scenario/sync_spec.hpp"
#include "sim/straggler/disturbance.hpp"
#include "sim/straggler/storage_queue.hpp"
#include "sim/timeline/category.hpp"

/// Replicas kept together otherwise than by an all-reduce per step, as seconds, bytes and links:
/// made by sim/engine/lowering from a scenario, run by `run_sync` on any network. Who waits for
/// whom, and which bytes are on which link, comes out of the events.
namespace stepcast {

/// Compute of a piece at full speed: seconds that a slow rank stretches, and those it does not.
struct SyncCompute {
  double scaled = 0, fixed = 0;
};

/// The part of an exchange that lies on one server.
struct SyncShare {
  std::uint32_t server = 0;
  double push_bytes = 0, pull_bytes = 0;      // on the wire, inflated by the fabric's efficiency
  double push_startup = 0, pull_startup = 0;  // seconds before the first byte
  double payload_push = 0, payload_pull = 0;  // as encoded, without inflation
  double summed_bytes = 0;                    // what the server adds up for one push
};
/// A gradient bucket (or, in averaging modes, parameters) on its way out and back.
struct SyncExchange {
  SyncCompute backward;  // the piece of the backward that ends with this bucket complete
  double encode_s = 0, decode_s = 0;
  double reduce_s = 0, broadcast_s = 0;  // among the GPUs of the worker's node
  std::vector<SyncShare> shares;
};
/// What moves and computes as one: a replica, or all replicas of a node that reduce among
/// themselves first.
struct SyncWorker {
  int node = 0, first_rank = 0, ranks = 1;
  double samples_per_step = 1;
  double slowdown = 1;      // constant, of its slowest rank, load share included
  double jitter_sigma = 0;  // lognormal per piece, the slowest of jitter_ranks
  int jitter_ranks = 1;
  double pause = 0;
  Disturbance disturbance;
  std::vector<StorageQueue> loaders;
  std::int32_t loader = -1;           // consumer of SyncJob::supply
  LinkId host_up = 0, host_down = 0;  // GPU to host memory and back, all GPUs of the worker
};
struct SyncServer {
  int node = 0;
  bool is_dedicated = false;
  double stored_bytes = 0;
};

/// One collective over all workers (averaging, or gradients of the first to arrive).
struct SyncRound {
  double startup_s = 0, intra_s = 0;
  struct Edge {
    std::vector<LinkId> route;
    double bytes = 0;
  };
  std::vector<Edge> edges;
  double payload_bytes = 0;  // over all edges
};

struct SyncJob {
  SyncSpec spec;
  int steps = 1;  // of each worker, on average
  std::uint64_t seed = 1;
  double global_batch = 1;
  SyncCompute forward, middle, tail, optimizer;  // middle: accumulation before the last backward;
                                                 // tail: backward after the last bucket
  std::vector<SyncExchange> exchanges;
  std::vector<SyncWorker> workers;
  std::vector<SyncServer> servers;
  SyncRound round;           // bsp with backup workers, local-sgd, hierarchical
  double local_round_s = 0;  // hierarchical: all-reduce of the gradients inside a node
  double message_startup_s = 0, message_bytes = 0,
         payload_message_bytes = 0;  // gossip, and parameters sent to a late worker
  double host_link_startup_s = 0;
  std::shared_ptr<const Topology> topology;  // of worker and server nodes
  std::vector<LinkSpec> links;               // the topology's first, then host links
  std::vector<LinkEvent> link_events;
  double summation_Bps = 1, request_s = 0;
  std::shared_ptr<DataSupply> supply;  // of the workers' samples; none: they are always there
  double credit_bytes = 0;  // priority scheduling: bytes a worker has under way in each direction;
                            // 0 = everything at once
};

/// One gradient (or parameter difference, or average) entering the model. `read_version`: updates
/// that were complete when the worker read the parameters it was computed from; `order` counts
/// updates from 0; gossip: how many steps the two differ.
struct SyncUpdate {
  std::int64_t order = 0, read_version = 0;
  std::int32_t worker = 0, step = 0, peer = -1;
  double time_s = 0;
  std::int64_t staleness =
      0;  // order - read_version; 0 for updates that enter together (bsp, averaging)
  bool is_dropped = false;  // came too late and was thrown away (backup workers)
};
struct ServerUse {
  double busy_s = 0, tx_utilisation = 0, rx_utilisation = 0, utilisation = 0, stored_bytes = 0;
};

struct SyncOutcome {
  SyncMode mode = SyncMode::bsp;
  std::vector<SyncUpdate> updates;  // in order of time
  double end_s = 0;
  double samples_per_s = 0, updates_per_s = 0;  // after the first tenth
  std::vector<double> step_times;               // seconds per global batch, after the first tenth
  std::map<std::int64_t, std::int64_t> staleness;  // staleness -> updates
  double mean_staleness = 0;
  std::int64_t most_staleness = 0, dropped = 0;
  std::vector<ServerUse> servers;
  std::vector<Breakdown> per_worker;  // seconds per step of each worker
  std::vector<double> steps_of_worker;
  double bytes_sent = 0;  // payload of all messages
  std::uint64_t events = 0;
  std::vector<std::string> busiest_names;
  std::vector<double> busiest_utilisation, busiest_bytes, busiest_capacity;
};
SyncOutcome run_sync(const SyncJob& job, Network& network);

/// "order,time_s,worker,step,read_version,staleness,peer,dropped" per line: what `converge`
/// replays.
std::string update_log_csv(const SyncOutcome& outcome);
}  // namespace stepcast
