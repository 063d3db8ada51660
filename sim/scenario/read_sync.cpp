#include "sim/io/object_reader.hpp"
#include "sim/scenario/parts.hpp"

namespace stepcast {
namespace {
constexpr double kMiB = 1048576.0;

ServerSpec read_servers(ObjectReader r, int nodes) {
  ServerSpec s;
  // As many servers as nodes: with fewer their ports are the bottleneck (Li et al. 2014; BytePS
  // best practice asks for as much bandwidth on the servers as on the workers).
  s.count = static_cast<int>(
      r.integer("count", {.fallback = std::max(1, nodes), .min = 1, .max = 65536}));
  s.placement = r.one_of<ServerPlacement>("placement", s.placement);
  if (s.placement == ServerPlacement::colocated) {
    if (r.has("nic_Gbps"))
      r.problem("nic_Gbps", "has no effect: a colocated server uses its node's ports",
                "dedicated servers have their own");
    if (nodes > 0 && s.count > nodes)
      r.problem("count", "is above the number of nodes; a node holds one colocated server",
                "at most " + std::to_string(nodes));
  }
  s.nic =
      BytesPerSecond(r.number("nic_Gbps", {.fallback = 100, .min = 1e-3, .max = 1e5}) * 1e9 / 8);
  s.sharding = r.one_of<Sharding>("sharding", s.sharding);
  if (s.sharding == Sharding::round_robin && r.has("partition_MiB"))
    r.problem("partition_MiB", "has no effect with sharding round-robin, which deals whole tensors",
              "");
  if (const auto MiB = r.optional_number("partition_MiB", {.min = 1.0 / 1024, .max = 1 << 20}))
    s.partition = Bytes(static_cast<std::int64_t>(*MiB * kMiB));
  s.summation = BytesPerSecond(
      r.number("summation_GBps", {.fallback = s.summation.value / 1e9, .min = 1e-3, .max = 1e5}) *
      1e9);
  s.request =
      Seconds(r.number("request_us", {.fallback = s.request.value * 1e6, .max = 1e6}) * 1e-6);
  s.updates = r.boolean("updates", s.updates);
  if (!s.updates && r.has("update_passes"))
    r.problem("update_passes", "has no effect: the servers only sum", "set updates");
  s.update_passes = r.number("update_passes", {.fallback = s.update_passes, .max = 100});
  s.local_reduction = r.boolean("local_reduction", s.local_reduction);
  s.overlap_pull = r.boolean("overlap_pull", s.overlap_pull);
  s.sparse_embeddings = r.boolean("sparse_embeddings", s.sparse_embeddings);
  if (!s.sparse_embeddings && r.has("token_skew"))
    r.problem("token_skew", "has no effect without sparse_embeddings", "");
  s.token_skew = r.number("token_skew", {.fallback = s.token_skew, .max = 4});
  r.done();
  return s;
}
}  // namespace

SyncSpec read_sync(ObjectReader r, int nodes) {
  SyncSpec s;
  using enum SyncMode;
  s.mode = r.one_of<SyncMode>("mode", bsp);
  const std::string mode(text_of(s.mode));
  const auto refuse = [&](const char* key, bool is_used, const char* who) {
    if (!is_used && r.has(key)) r.problem(key, "has no effect in mode " + mode, who);
  };
  const bool is_periodic =
      s.mode == local_sgd || s.mode == elastic || s.mode == gossip || s.mode == hierarchical;
  const bool may_have_servers =
      s.mode == bsp || s.mode == ssp || s.mode == async || s.mode == elastic;
  refuse("staleness", s.mode == ssp, "ssp uses it");
  refuse("period", is_periodic, "local-sgd, elastic, gossip and hierarchical use it");
  refuse("backup_workers", s.mode == bsp, "bsp uses it");
  refuse("peers", s.mode == gossip, "gossip uses it");
  refuse("servers", may_have_servers, "bsp, ssp, async and elastic use parameter servers");
  s.staleness =
      static_cast<int>(r.integer("staleness", {.fallback = 0, .min = 0, .max = 1'000'000}));
  s.period = static_cast<int>(r.integer("period", {.fallback = 1, .min = 1, .max = 1'000'000}));
  s.backup_workers =
      static_cast<int>(r.integer("backup_workers", {.fallback = 0, .min = 0, .max = 1'000'000}));
  s.peers = r.one_of<GossipPeers>("peers", s.peers);
  if (auto servers = r.object("servers")) s.server = read_servers(*servers, nodes);
  const bool needs_servers = s.mode == ssp || s.mode == async || s.mode == elastic;
  if (needs_servers && !s.has_servers())
    r.problem("servers", "are missing: mode " + mode + " keeps its parameters on servers",
              "for example { \"count\": 4 }");
  r.done();
  return s;
}
}  // namespace stepcast
