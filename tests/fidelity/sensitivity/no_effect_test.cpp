// Inputs that change nothing in a scenario are named, and indeed change nothing.
#include "tests/fidelity/sensitivity/change.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
struct Dead {
  Settings before, change;
  const char* named;
};

void require_named_and_dead(const std::vector<Dead>& rows) {
  for (const Dead& row : rows) {
    const Forecast before = forecast(row.before), after = forecast(row.before + row.change);
    INFO(row.named);
    CHECK(after.outcome.step_s == Approx(before.outcome.step_s).epsilon(1e-12));
    std::string all;
    for (const std::string& warning : after.warnings) all += warning + "\n";
    CHECK_THAT(all, Catch::Contains(row.named));
  }
}
}  // namespace

TEST_CASE("an input without effect in a scenario is reported", "[sensitivity][fidelity]") {
  const Settings alone{"/cluster/nodes=1", "/parallel/tp=8"};
  require_named_and_dead({
      {alone, {R"(/compression={"scheme": "topk"})"}, "/compression: topk has no effect"},
      {alone, {"/parallel/zero_stage=1"}, "/parallel/zero_stage: 1 has no effect"},
      {alone, {"/cluster/placement=random"}, "/cluster/placement: random has no effect"},
      {alone,
       {R"(/cluster/link_events=[{"node": 0, "at_s": 0, "capacity_factor": 0.1}])"},
       "/cluster/link_events has no effect"},
      {{}, {"/parallel/sequence_parallel=true"}, "/parallel/sequence_parallel has no effect"},
      {{}, {"/strategy/tp_overlap=0.5"}, "/strategy/tp_overlap has no effect"},
      {{"/parallel/zero_stage=1"},
       {"/parallel/shard_size=16"},
       "/parallel/shard_size: 16 has no effect"},
      {{}, {"/strategy/overlap_param_gather=true"}, "/strategy/overlap_param_gather has no effect"},
      {{"/strategy/overlap_grad_reduce=false"},
       {"/strategy/bucket_MiB=1"},
       "/strategy/bucket_MiB has no effect"},
      {{},
       {R"(/stragglers=[{"ranks": "3", "op": "no_such_op", "compute_slowdown": 2}])"},
       "no compute op is called no_such_op"},
      {{},
       {R"(/stragglers=[{"ranks": "3", "compute_slowdown": 1}])"},
       "/stragglers/0 has no effect"},
      {{},
       {R"(/cluster/link_events=[{"node": 0, "at_s": 100, "capacity_factor": 0.1}])"},
       "/cluster/link_events/0 has no effect: the step ends before"},
      {{}, {"/parallel/schedule=gpipe"}, "/parallel/schedule has no effect: pp is 1"},
      {{}, {"/parallel/schedule=zero-bubble"}, "/parallel/schedule has no effect: pp is 1"},
      {{},
       {"/cluster/fabric/oversubscription=8"},
       "/cluster/fabric/oversubscription has no effect: all 2 nodes hang on one leaf"},
      {{},
       {"/cluster/fabric/routing=hashed"},
       "/cluster/fabric/routing has no effect: all 2 nodes hang on one leaf"},
      {{},
       {"/cluster/fabric/hop_latency_us=50"},
       "/cluster/fabric/hop_latency_us has no effect: all 2 nodes hang on one leaf"},
      {{},
       {"/cluster/fabric/leaves_per_pod=4"},
       "/cluster/fabric/leaves_per_pod has no effect: all 2 nodes hang on one leaf"},
      {{"/cluster/fabric/nodes_per_leaf=1"},
       {"/cluster/fabric/uplinks_per_leaf=4"},
       "/cluster/fabric/uplinks_per_leaf has no effect: only hashed routing"},
      {{},
       {"/cluster/placement=random"},
       "/cluster/placement has no effect: all 2 nodes hang on one leaf"},
      {{"/cluster/fabric/kind=single-switch"},
       {"/cluster/fabric/oversubscription=8"},
       "oversubscription has no effect: a single switch"},
      {{R"(/strategy={"preset": "fsdp", "host": "none"})"},
       {"/strategy/bucket_MiB=1"},
       "/strategy/bucket_MiB has no effect: zero_stage 3 reduces layer by layer"},
      {{R"(/strategy={"preset": "fsdp", "host": "none"})"},
       {"/strategy/overlap_param_gather=false"},
       "/strategy/overlap_param_gather has no effect: zero_stage 3"},
      {{}, {"/parallel/context=all-to-all"}, "/parallel/context has no effect: cp is 1"},
      {{}, {"/strategy/overlap_p2p=false"}, "/strategy/overlap_p2p has no effect: pp is 1"},
      {{}, {"/strategy/prefetch=4"}, "/strategy/prefetch has no effect"},
      {{},
       {"/strategy/reshard_after_forward=false"},
       "/strategy/reshard_after_forward has no effect"},
      {{}, {"/strategy/host_scale=9"}, "/strategy/host_scale has no effect: host is"},
      {{"/training/attention=unfused"},
       {"/training/causal_skips_half=false"},
       "/training/causal_skips_half has no effect"},
      {{}, {"/cluster/host_to_device_GBps=1"}, "/cluster/host_to_device_GBps has no effect"},
      {alone, {"/cluster/nic_Gbps=1"}, "/cluster/nic_Gbps has no effect: the cluster has one node"},
      {alone, {"/cluster/nics=1"}, "/cluster/nics has no effect: the cluster has one node"},
      {alone,
       {"/cluster/fabric/oversubscription=8"},
       "/cluster/fabric has no effect: the cluster has one node"},
      {alone, {"/strategy/bucket_MiB=1"}, "/strategy/bucket_MiB has no effect: dp x cp is 1"},
      {alone,
       {"/strategy/overlap_grad_reduce=false"},
       "/strategy/overlap_grad_reduce has no effect: dp x cp is 1"},
      {{"/cluster/gpus_per_node=1"},
       {"/cluster/gpu_link_GBps=10"},
       "/cluster/gpu_link_GBps has no effect: a node has one GPU"},
      {{}, {"/run/message_level_rings=true"}, "/run/message_level_rings has no effect"},
      {{}, {"/run/steps=3"}, "nothing in the scenario is random"},
  });
}

TEST_CASE("what a preset states is never reported as without effect", "[sensitivity][fidelity]") {
  // The FSDP preset states a prefetch, the cluster a fabric; the base job wrote neither.
  for (const Settings& settings :
       std::vector<Settings>{{},
                             {"/cluster/nodes=1"},
                             {"/strategy={\"preset\": \"fsdp\"}", "/parallel/zero_stage=1"}})
    for (const std::string& warning : forecast(settings).warnings) {
      INFO(warning);
      CHECK(warning.find("has no effect") == std::string::npos);
    }
}

TEST_CASE("an input that nothing in the scenario could use is refused", "[sensitivity][fidelity]") {
  const auto text = [](const Settings& settings) {
    const Result<Scenario> scenario = try_job(settings);
    return scenario ? std::string() : scenario.problems().text();
  };
  CHECK_THAT(text({"/parallel/shard_size=8"}),
             Catch::Contains("/parallel/shard_size: 8 has no effect with zero_stage 0"));
  CHECK_THAT(text({R"(/compression={"scheme": "fp16", "ratio": 0.1})"}),
             Catch::Contains("/compression/ratio: has no effect with scheme fp16"));
  CHECK_THAT(text({R"(/compression={"scheme": "topk", "rank": 2})"}),
             Catch::Contains("/compression/rank: has no effect with scheme topk"));
  CHECK_THAT(text({R"(/stragglers=[{"ranks": "3", "op": "attention", "pause_ms": 3}])"}),
             Catch::Contains("/stragglers/0/op: has no effect"));
  CHECK_THAT(text({R"(/stragglers=[{"ranks": "3"}])"}),
             Catch::Contains("/stragglers/0: slows nothing down"));
}
