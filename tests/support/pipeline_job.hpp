#pragma once
#include "sim/engine/job.hpp"

namespace stepcast::tests {
/// A 1F1B pipeline with data-parallel gradient buckets, lowered by hand: one worker per node (its
/// GPUs are one tensor-parallel group), nodes under leaf switches, leaves joined by spines that
/// flows pick by hash.
///
///   spines      S0 S1 .. (nodes_per_leaf / oversubscription of them, each as wide as a node's
///   port) leaf links  up(leaf, spine), down(leaf, spine); with adaptive routing one of each per
///   leaf, as wide as all together ports       tx(node), rx(node)
struct PipelineShape {
  int stages = 2, replicas = 2, micro_batches = 4, buckets = 2;
  double forward_s = 0.05, backward_s = 0.1, optimizer_s = 0.02;  // per micro-batch and stage
  double host_share = 0;            // host issue time of a segment over its GPU time
  double activation_bytes = 50e6;   // per message, all rails of the node together
  double gradient_bytes = 40e9;     // per node and step
  double port_bytes_per_s = 400e9;  // per node and direction
  double latency_s = 5e-6;          // per message and per ring step
  int nodes_per_leaf = 16;
  double oversubscription = 1;
  bool is_adaptive = false;
  bool random_placement = false;
  double straggler_sigma = 0;  // constant factor per replica: 1 + sigma |z|
  double jitter_sigma = 0;     // lognormal per op
  double overlap_slowdown = 1;
  std::uint64_t seed = 1;
};
Job pipeline_job(const PipelineShape& shape);
}  // namespace stepcast::tests
