#include "gui/document/scenario_document.hpp"

namespace stepcast::gui {
/// Texts and units are those of scenarios/README.md.
const std::vector<ScenarioField>& scenario_fields() {
  static const QStringList yes_no{"true", "false"};
  static const std::vector<ScenarioField> fields{
      {"Cluster", "preset", "/cluster/preset", "", "A file of scenarios/clusters", {}, ""},
      {"Cluster", "nodes", "/cluster/nodes", "", "Number of nodes", {}, "1"},
      {"Cluster", "GPUs per node", "/cluster/gpus_per_node", "", "GPUs that reach each other without the network", {}, "8"},
      {"Cluster", "GPU link", "/cluster/gpu_link_GBps", "GB/s", "Scale-up rate of one GPU, one direction", {}, ""},
      {"Cluster", "NICs per node", "/cluster/nics", "", "", {}, "8"},
      {"Cluster", "NIC rate", "/cluster/nic_Gbps", "Gbit/s", "One NIC, one direction", {}, ""},
      {"Cluster", "in-switch reduction", "/cluster/in_switch_reduction", "", "NVLink SHARP", yes_no, "false"},
      {"Cluster", "placement", "/cluster/placement", "", "How ranks are laid on nodes", {"linear", "random", "strided"}, "linear"},
      {"Cluster", "rent of a node", "/cluster/usd_per_hour", "USD/h", "", {}, ""},
      {"Fabric", "kind", "/cluster/fabric/kind", "", "Topology between nodes", {"none", "single-switch", "fat-tree", "rail-optimized", "dragonfly", "torus"}, ""},
      {"Fabric", "oversubscription", "/cluster/fabric/oversubscription", "", "Leaf downlinks to uplinks", {}, "1"},
      {"Fabric", "hop latency", "/cluster/fabric/hop_latency_us", "us", "", {}, ""},
      {"Fabric", "routing", "/cluster/fabric/routing", "", "", {"adaptive", "hashed"}, ""},
      {"Fabric", "in-network reduction", "/cluster/fabric/in_network_reduction", "", "SHARP in the network's switches", yes_no, "false"},
      {"Parallel", "tensor (tp)", "/parallel/tp", "ranks", "", {}, "1"},
      {"Parallel", "pipeline (pp)", "/parallel/pp", "stages", "", {}, "1"},
      {"Parallel", "context (cp)", "/parallel/cp", "ranks", "", {}, "1"},
      {"Parallel", "expert (ep)", "/parallel/ep", "ranks", "", {}, "1"},
      {"Parallel", "data (dp)", "/parallel/dp", "replicas", "From the number of GPUs where it is not given", {}, "from the GPUs"},
      {"Parallel", "schedule", "/parallel/schedule", "", "Order of micro-batches in the pipeline", {"gpipe", "1f1b", "interleaved", "zero-bubble"}, "1f1b"},
      {"Parallel", "virtual stages", "/parallel/virtual_stages", "", "Chunks per rank, interleaved only", {}, "1"},
      {"Parallel", "ZeRO stage", "/parallel/zero_stage", "", "0 nothing, 1 optimizer, 2 + gradients, 3 + parameters sharded", {"0", "1", "2", "3"}, "0"},
      {"Parallel", "sequence parallel", "/parallel/sequence_parallel", "", "Norms and dropouts split along the sequence", yes_no, "false"},
      {"Training", "global batch", "/training/global_batch", "samples", "", {}, "from the layout"},
      {"Training", "micro-batch", "/training/micro_batch", "samples", "", {}, "1"},
      {"Training", "sequence length", "/training/sequence_length", "tokens", "", {}, "4096"},
      {"Training", "precision", "/training/precision", "", "", {"fp32", "tf32", "fp16", "bf16", "fp8", "int8"}, "bf16"},
      {"Training", "recompute", "/training/recompute", "", "", {"none", "selective", "full"}, "none"},
      {"Strategy", "preset", "/strategy/preset", "", "A file of scenarios/strategies", {}, "megatron"},
      {"Strategy", "collective algorithm", "/strategy/collective_algorithm", "", "", {"auto", "ring", "tree", "hierarchical", "nvls", "sharp", "direct"}, "auto"},
      {"Strategy", "gradient bucket", "/strategy/bucket_MiB", "MiB", "", {}, ""},
      {"Strategy", "overlap gradient reduction", "/strategy/overlap_grad_reduce", "", "Buckets leave while backward runs", yes_no, "true"},
      {"Strategy", "overlap parameter gather", "/strategy/overlap_param_gather", "", "Hidden behind the next forward", yes_no, "false"},
      {"Strategy", "overlap pipeline messages", "/strategy/overlap_p2p", "", "", yes_no, "true"},
      {"Strategy", "hidden tp communication", "/strategy/tp_overlap", "share", "0 to 1: hidden behind GEMMs", {}, "0"},
      {"Strategy", "host", "/strategy/host", "", "How kernels are issued", {"eager", "fused", "graph", "none"}, "fused"},
      {"Compression", "scheme", "/compression/scheme", "", "Of gradients", {"none", "fp16", "bf16", "int8", "fp8", "onebit", "topk", "randomk", "powersgd"}, "none"},
      {"Compression", "share kept", "/compression/ratio", "", "topk and randomk", {}, "0.01"},
      {"Compression", "rank", "/compression/rank", "", "powersgd", {}, "4"},
      {"Stragglers", "list", "/stragglers", "JSON", "For example [{\"ranks\": \"17\", \"compute_slowdown\": 1.3}]", {}, "[]"},
      {"Run", "steps", "/run/steps", "", "Simulated steps", {}, "1"},
      {"Run", "seed", "/run/seed", "", "", {}, "1"}};
  return fields;
}
}  // namespace stepcast::gui
