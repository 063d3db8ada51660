#pragma once
#include "sim/engine/simulate.hpp"

/// A small GPT on small nodes of a non-blocking fabric, for tests of the road from scenario to
/// forecast.
namespace stepcast::test {

inline GpuSpec small_gpu() {
  GpuSpec gpu;
  gpu.name = "test GPU";
  gpu.peak_flops.fill(100e12);
  gpu.memory_bandwidth = BytesPerSecond(1e12);
  gpu.memory = Bytes(std::int64_t{80} << 30);
  gpu.compute_units = 100;
  return gpu;
}
inline ClusterSpec small_cluster(int nodes, int gpus_per_node = 8) {
  NodeSpec node;
  node.gpu = small_gpu();
  node.gpus = gpus_per_node;
  node.intra = gpus_per_node == 1 ? IntraTopology::single : IntraTopology::nvswitch;
  node.gpu_link = BytesPerSecond(300e9);
  node.nics = gpus_per_node;
  node.nic_bandwidth = BytesPerSecond(25e9);
  ClusterSpec cluster;
  cluster.name = "test cluster";
  cluster.groups = {{node, nodes}};
  cluster.fabric.kind = FabricKind::rail_optimized;
  cluster.fabric.nodes_per_leaf = 4;
  cluster.fabric.hop_latency = Seconds(300e-9);
  return cluster;
}
inline Profile small_profile() {
  Profile profile;
  profile.name = "test profile";
  profile.gpu = small_gpu();
  profile.kernels.host["megatron"] =
      HostFit{.eager_us = 5, .fused_us = 4, .graph_us = 1, .source = "test"};
  profile.kernels.overlap_slowdown_compute = 1.1;
  return profile;
}
inline Scenario small_scenario(int nodes, ParallelLayout layout, int micro_batches = 8) {
  Scenario scenario;
  scenario.name = "test";
  scenario.cluster = small_cluster(nodes);
  scenario.model.name = "small";
  TransformerSpec& t = scenario.model.transformer;
  t.layers = 8;
  t.hidden = 1024;
  t.heads = t.kv_heads = 16;
  t.head_dim = 64;
  t.ffn = 4096;
  t.vocab = 8192;
  if (layout.dp == 0) layout.dp = nodes * 8 / (layout.tp * layout.pp * layout.cp);
  scenario.parallel = layout;
  scenario.training.micro_batch = 1;
  scenario.training.global_batch = std::int64_t{layout.dp} * micro_batches;
  scenario.training.sequence_length = 1024;
  scenario.strategy.bucket_bytes = Bytes(20'000'000);
  return scenario;
}
}  // namespace stepcast::test
