#pragma once
#include "tests/fidelity/jobs/base_job.hpp"

namespace stepcast::test {
struct LayoutKind {
  std::string name;
  Settings settings;
};

/// Every kind of layout that the product knows, on the base job's 16 GPUs.
inline std::vector<LayoutKind> layout_kinds() {
  const Settings batch{"/training/global_batch=64"};
  const auto with = [&](const Settings& more) { return batch + more; };
  return {
      {"data parallel", with({})},
      {"tensor 8", with({"/parallel/tp=8"})},
      {"tensor 8 with sequence parallel",
       with({"/parallel/tp=8", "/parallel/sequence_parallel=true", "/strategy/tp_overlap=0.5"})},
      {"tensor 16 over two nodes", with({"/parallel/tp=16"})},
      {"gpipe", with({"/parallel/tp=2", "/parallel/pp=4", "/parallel/schedule=gpipe"})},
      {"1f1b", with({"/parallel/tp=2", "/parallel/pp=4"})},
      {"1f1b, messages block", with({"/parallel/pp=2", "/strategy/overlap_p2p=false"})},
      {"interleaved", with({"/parallel/tp=2", "/parallel/pp=4", "/parallel/schedule=interleaved",
                            "/parallel/virtual_stages=2"})},
      {"zero-bubble", with({"/parallel/tp=2", "/parallel/pp=4", "/parallel/schedule=zero-bubble"})},
      {"ring context", with({"/parallel/cp=4"})},
      {"ring context over two nodes", with({"/parallel/cp=16", "/training/sequence_length=4096"})},
      {"all-to-all context", with({"/parallel/cp=4", "/parallel/context=all-to-all"})},
      {"zero 1", with({"/parallel/zero_stage=1"})},
      {"zero 1, gather hidden",
       with({"/parallel/zero_stage=1", "/strategy/overlap_param_gather=true"})},
      {"zero 2", with({"/parallel/zero_stage=2"})},
      {"zero 3", with({"/parallel/zero_stage=3"})},
      {"zero 3 with tensor 2", with({"/parallel/zero_stage=3", "/parallel/tp=2"})},
      {"hybrid sharded", with({"/parallel/zero_stage=3", "/parallel/shard_size=8"})},
      {"experts", mixture() + with({"/parallel/ep=8"})},
      {"experts over two nodes", mixture() + with({"/parallel/ep=16", "/model/moe/experts=16"})},
      {"experts with tensor and pipeline",
       mixture() + with({"/parallel/ep=4", "/parallel/tp=2", "/parallel/sequence_parallel=true",
                         "/parallel/pp=2"})},
      {"compressed", with({R"(/compression={"scheme": "powersgd", "rank": 4})"})},
      {"slow ranks",
       with(
           {R"(/stragglers=[{"ranks": "3", "compute_slowdown": 1.4}, {"jitter": {"sigma": 0.05}}, {"ranks": "9", "pause_ms": 3}])"})},
      {"host-bound", with({"/strategy/host=eager", "/strategy/host_scale=10"})},
  };
}
}  // namespace stepcast::test
