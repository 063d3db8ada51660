#pragma once
#include "sim/core/enum_text.hpp"
#include "sim/core/units.hpp"

/// How replicas are kept together, as a scenario states it ("sync"). Simulated by sim/sync unless
/// it is the plain BSP all-reduce.
namespace stepcast {

/// bsp: all wait for all, every step. ssp: no replica is more than `staleness` steps ahead of the
/// slowest (Ho et al. 2013). async: nobody waits (Dean et al. 2012). local-sgd: parameters are
/// averaged every `period` steps (Stich 2019). elastic: every `period` steps towards a centre
/// (Zhang et al. 2015). gossip: average with neighbours (Lian et al. 2017, 2018). hierarchical:
/// gradients inside a node every step, parameters between nodes every `period` steps (Lin et al.
/// 2020).
enum class SyncMode { bsp, ssp, async, local_sgd, elastic, gossip, hierarchical };
template <>
struct EnumText<SyncMode> {
  static constexpr std::array<std::pair<SyncMode, std::string_view>, 7> table{
      {{SyncMode::bsp, "bsp"},
       {SyncMode::ssp, "ssp"},
       {SyncMode::async, "async"},
       {SyncMode::local_sgd, "local-sgd"},
       {SyncMode::elastic, "elastic"},
       {SyncMode::gossip, "gossip"},
       {SyncMode::hierarchical, "hierarchical"}}};
};
/// ring: both neighbours, in step (D-PSGD). random: one drawn peer, nobody waits for it to be ready
/// (AD-PSGD).
enum class GossipPeers { ring, random };
template <>
struct EnumText<GossipPeers> {
  static constexpr std::array<std::pair<GossipPeers, std::string_view>, 2> table{
      {{GossipPeers::ring, "ring"}, {GossipPeers::random, "random"}}};
};
/// How keys (partitions of tensors) are dealt to servers. size: always to the one with fewest
/// bytes. round-robin: in order, whole tensors. access: to the one with least traffic, which
/// differs from size where embeddings are sparse.
enum class Sharding { size, round_robin, access };
template <>
struct EnumText<Sharding> {
  static constexpr std::array<std::pair<Sharding, std::string_view>, 3> table{
      {{Sharding::size, "size"},
       {Sharding::round_robin, "round-robin"},
       {Sharding::access, "access"}}};
};
enum class ServerPlacement { colocated, dedicated };
template <>
struct EnumText<ServerPlacement> {
  static constexpr std::array<std::pair<ServerPlacement, std::string_view>, 2> table{
      {{ServerPlacement::colocated, "colocated"}, {ServerPlacement::dedicated, "dedicated"}}};
};

struct ServerSpec {
  int count = 0;  // 0: all-reduce, no servers
  ServerPlacement placement = ServerPlacement::colocated;
  Sharding sharding = Sharding::size;
  Bytes partition{4'096'000};      // largest key under `size` and `access`; BytePS:
                                   // BYTEPS_PARTITION_BYTES = 4096000
  BytesPerSecond nic{12.5e9};      // of a dedicated server, one direction
  BytesPerSecond summation{20e9};  // gradient bytes a server takes in and adds up per second
  Seconds request{20e-6};          // handling of one message on a server's CPU
  bool updates =
      true;  // the server runs the optimizer (TensorFlow, MXNet); false: it only sums (BytePS)
  double update_passes =
      3;  // memory passes of the update over those of a sum: momentum or Adam read and write state
  bool local_reduction = false;  // GPUs of a node reduce first and push once (BytePS)
  bool overlap_pull =
      false;  // the next forward starts as its first parameters arrive (priority scheduling)
  bool sparse_embeddings = false;  // only touched rows of embedding tables are pushed and pulled
  double token_skew = 1.0;  // Zipf exponent of token frequencies, for the number of distinct rows
};
struct SyncSpec {
  SyncMode mode = SyncMode::bsp;
  int staleness = 0;       // ssp
  int period = 1;          // local-sgd, elastic, gossip, hierarchical: steps between exchanges
  int backup_workers = 0;  // bsp: the update takes the first n - k replicas (Chen et al. 2016)
  GossipPeers peers = GossipPeers::ring;
  ServerSpec server;
  bool has_servers() const { return server.count > 0; }
  /// Left to the step executor: every replica meets every other in each step's all-reduce.
  bool is_lockstep() const {
    return mode == SyncMode::bsp && !has_servers() && backup_workers == 0;
  }
};
}  // namespace stepcast
