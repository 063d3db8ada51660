#include "sim/scenario/unused_keys.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/io/json.hpp"

namespace stepcast {
namespace {

/// A key of a section ("cluster" or "cluster/fabric"), and why nothing reads it; "" when something
/// does.
struct Reader {
  const char* section;
  const char* key;
  std::string reason;
};

bool is_written(const Json& user, const Reader& reader) {
  return user.contains(Json::json_pointer("/" + std::string(reader.section) + "/" + reader.key));
}

std::string when(bool is_unused, const char* reason) { return is_unused ? reason : ""; }

/// Why nothing above the nodes' own switch carries traffic; "" when something does.
std::string flat_reason(const ClusterSpec& cluster) {
  const FabricSpec& fabric = cluster.fabric;
  switch (fabric.kind) {
    case FabricKind::single_switch:
      return "a single switch joins all nodes";
    case FabricKind::torus:
      return "a torus has no leaves";
    case FabricKind::fat_tree:
    case FabricKind::rail_optimized:
    case FabricKind::dragonfly:
      return cluster.nodes() <= fabric.nodes_per_leaf
                 ? fmt::format("all {} nodes hang on one leaf (nodes_per_leaf {})", cluster.nodes(),
                               fabric.nodes_per_leaf)
                 : "";
    case FabricKind::none:
      return "";
  }
  return "";
}
/// Why a model's dense feed-forward width counts for nothing; "" when some layer has it.
std::string no_dense_mlp(const ModelSpec& model) {
  if (model.kind != ModelKind::moe || !model.transformer.moe) return "";
  const MixtureSpec& moe = *model.transformer.moe;
  const bool has_dense = moe.first_dense_layers > 0 || moe.layer_interval > 1;
  return when(!has_dense && moe.expert_ffn != model.transformer.ffn,
              "every layer has experts, see /model/moe/expert_ffn");
}
}  // namespace

std::vector<std::string> unused_keys(const Scenario& s, const Json& user) {
  const ParallelLayout& layout = s.parallel;
  const auto& groups = s.cluster.groups;
  const std::string no_pipeline = when(layout.pp == 1, "pp is 1");
  const std::string not_gathered =
      when(layout.zero_stage < 3, "only zero_stage 3 gathers parameters layer by layer");
  const std::string no_replicas =
      when(layout.dp * layout.cp == 1, "dp x cp is 1, so no gradient is sent");
  const std::string one_node = when(s.cluster.nodes() == 1, "the cluster has one node");
  const bool has_peers =
      std::any_of(groups.begin(), groups.end(), [](const NodeGroup& g) { return g.spec.gpus > 1; });
  const std::string single_gpus = when(!has_peers, "a node has one GPU");
  const bool is_flash = s.training.attention != AttentionKind::unfused;
  const bool averages = s.sync.mode == SyncMode::local_sgd || s.sync.mode == SyncMode::gossip ||
                        s.sync.mode == SyncMode::elastic;
  const bool is_layerwise = layout.zero_stage == 3;
  const std::string no_buckets = !no_replicas.empty() ? no_replicas
                                 : averages
                                     ? "replicas exchange parameters, not gradients"
                                     : when(is_layerwise, "zero_stage 3 reduces layer by layer");
  const std::string replicas_only =
      !no_replicas.empty() ? no_replicas
                           : when(s.parallel.zero_stage > 0 || !s.sync.is_lockstep(),
                                  "only plain data parallelism asks which parameters were used");
  const std::string no_attention =
      when(s.model.kind == ModelKind::cnn || s.model.kind == ModelKind::dlrm ||
               s.model.kind == ModelKind::custom,
           "only transformers have attention, tokens and a vocabulary");
  const std::string no_host = when(s.strategy.host == HostMode::none, "host is \"none\"");

  const std::string flat = s.cluster.nodes() > 1 ? flat_reason(s.cluster) : "";
  const std::string no_pods =
      !flat.empty() ? flat
                    : when(s.cluster.nodes() > 1 && s.cluster.fabric.leaves_per_pod == 0,
                           "leaves_per_pod is 0");
  const std::string not_hashed = !flat.empty() ? flat
                                               : when(s.cluster.fabric.routing != Routing::hashed,
                                                      "only hashed routing picks among uplinks");
  const bool is_torus = s.cluster.fabric.kind == FabricKind::torus;

  const std::vector<Reader> readers{
      {"parallel", "schedule", no_pipeline},
      {"parallel", "zero_stage",
       when(layout.zero_stage == 2 && layout.pp > 1,
            "in a pipeline gradients accumulate whole, so stage 2 is stage 1")},
      {"parallel", "context", when(layout.cp == 1, "cp is 1")},
      {"strategy", "overlap_p2p", no_pipeline},
      {"strategy", "prefetch", not_gathered},
      {"strategy", "reshard_after_forward", not_gathered},
      {"strategy", "bucket_MiB", no_buckets},
      {"strategy", "bucket_elements", no_buckets},
      {"strategy", "first_bucket_MiB", no_buckets},
      {"strategy", "overlap_grad_reduce", no_replicas},
      {"strategy", "overlap_param_gather",
       !no_replicas.empty()
           ? no_replicas
           : when(is_layerwise, "zero_stage 3 gathers layer by layer, see prefetch")},
      {"strategy", "host_scale", no_host},
      {"strategy", "framework", no_host},
      {"training", "causal_skips_half",
       !no_attention.empty() ? no_attention
                             : when(!is_flash, "unfused attention computes the full square")},
      {"training", "attention", no_attention},
      {"training", "fused_loss", no_attention},
      {"training", "sequence_length", no_attention},
      {"model", "ffn", no_dense_mlp(s.model)},
      {"sync/servers", "sparse_embeddings",
       !no_attention.empty()
           ? "the model has no table of tokens"
           : when(s.model.transformer.tied_embedding,
                  "a tied embedding gets a dense gradient from the output layer")},
      {"cluster", "gpu_link_GBps", single_gpus},
      {"cluster", "in_switch_reduction", single_gpus},
      {"strategy", "cycle_ms", no_replicas},
      {"strategy", "negotiation_hop_us", when(s.strategy.cycle_s == 0, "cycle_ms is 0")},
      {"strategy", "find_unused_parameters", replicas_only},
      {"strategy", "cpu_update_Gparameters_per_s",
       when(s.strategy.offload == Offload::none, "offload is \"none\"")},
      {"cluster", "host_to_device_GBps",
       when(s.strategy.offload == Offload::none && !s.sync.has_servers(),
            "nothing is copied to or from host memory")},
      {"cluster", "nics", one_node},
      {"cluster", "nic_Gbps", one_node},
      {"cluster", "nic_GBps", one_node},
      {"cluster", "fabric", one_node},
      {"cluster/fabric", "oversubscription", flat},
      {"cluster/fabric", "core_oversubscription", no_pods},
      {"cluster/fabric", "leaves_per_pod", flat},
      {"cluster/fabric", "uplinks_per_leaf", not_hashed},
      {"cluster/fabric", "routing", flat},
      {"cluster/fabric", "nodes_per_leaf", when(is_torus, "a torus has no leaves")},
      {"cluster/fabric", "hop_latency_us",
       is_torus       ? ""
       : flat.empty() ? ""
                      : flat + ", and the profile's start-up time holds that hop"},
      {"cluster", "clock_spread", when(layout.world() == 1, "one board computes alone")},
      {"cluster", "placement", is_torus || !s.cluster.is_uniform() ? "" : flat},
  };
  std::vector<std::string> unused;
  for (const Reader& reader : readers)
    if (!reader.reason.empty() && is_written(user, reader))
      unused.push_back("/" + std::string(reader.section) + "/" + reader.key +
                       " has no effect: " + reader.reason);
  return unused;
}
}  // namespace stepcast
