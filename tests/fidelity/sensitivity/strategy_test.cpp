// How the framework issues work and moves gradients; slow ranks; compressed gradients.
#include "tests/fidelity/sensitivity/change.hpp"

using namespace stepcast;
using namespace stepcast::test;

TEST_CASE("buckets and overlap decide how much of the reduction shows", "[sensitivity][fidelity]") {
  const Settings slow{"/cluster/nic_Gbps=50"};  // about as long as the compute
  require_effects({
      // Nothing leaves before the whole backward is done.
      {"one bucket",
       slow,
       {"/strategy/bucket_MiB=100000", "/strategy/first_bucket_MiB=0"},
       1.05,
       2.0},
      // Each of hundreds of all-reduces has its start-up.
      {"tiny buckets",
       Settings{"/cluster/nodes=8", "/training/global_batch=128"},
       {"/strategy/bucket_MiB=0.1", "/strategy/first_bucket_MiB=0.1"},
       1.0,
       3.0},
      {"no overlap", slow, {"/strategy/overlap_grad_reduce=false"}, 1.05, 2.0},
      // The gather of parameters hides behind the next forward.
      {"parameter gather hidden",
       slow + Settings{"/parallel/zero_stage=1"},
       {"/strategy/overlap_param_gather=true"},
       0.6,
       0.99},
      // Every chunk's pass waits until its output is away: 16 x 2 chunks x 2 messages of 8 MiB over
      // a NIC of 12.5 GB/s, 0.8 ms each
      // beside 2 ms of passes; some of it was waited for before.
      {"messages block compute",
       {"/parallel/pp=4", "/training/global_batch=64", "/cluster/nic_Gbps=100",
        "/parallel/schedule=interleaved", "/parallel/virtual_stages=2"},
       {"/strategy/overlap_p2p=false"},
       1.02,
       1.5},
  });
}

TEST_CASE("a host that cannot keep up owns the step", "[sensitivity][fidelity]") {
  const Settings eager{"/strategy/host=eager", "/strategy/host_scale=8",
                       "/strategy/blocking_step_end=true"};
  require_effects({
      {"host eager", {"/strategy/host_scale=8"}, {"/strategy/host=eager"}, 1.5, 20},
      // Host-bound: launches are nearly the whole step.
      {"host_scale x2", eager, {"/strategy/host_scale=16"}, 1.7, 2.05},
      {"graph launches", eager, {"/strategy/host=graph"}, 0.05, 0.7},
      // The first launches of a step are not hidden when the host waits for the GPU at the end of
      // the one before.
      {"no wait at the step's end",
       {"/strategy/host=eager", "/strategy/host_scale=2", "/strategy/blocking_step_end=true"},
       {"/strategy/blocking_step_end=false"},
       0.5,
       0.9999},
  });
}

TEST_CASE("slow ranks hold up the step", "[sensitivity][fidelity]") {
  require_effects({
      // Its compute and update stretch by 1.5 and the reduction waits for it.
      {"one rank at 1.5",
       {},
       {R"(/stragglers=[{"ranks": "3", "compute_slowdown": 1.5}])"},
       1.4,
       1.5},
      {"one rank at 3", {}, {R"(/stragglers=[{"ranks": "3", "compute_slowdown": 3}])"}, 2.7, 3.0},
      // A tenth of the compute doubles.
      {"attention of one rank at 2",
       {},
       {R"(/stragglers=[{"ranks": "3", "op": "attention", "compute_slowdown": 2}])"},
       1.03,
       1.4},
      // The slowest of 16 lognormal draws: exp(0.1 x 1.77) = 1.19 of each pass at most, less where
      // passes do not wait.
      {"jitter 0.1", {}, {R"(/stragglers=[{"jitter": {"sigma": 0.1}}])"}, 1.03, 1.35},
      {"jitter x2",
       {R"(/stragglers=[{"jitter": {"sigma": 0.1}}])"},
       {R"(/stragglers=[{"jitter": {"sigma": 0.2}}])"},
       1.03,
       1.4},
  });
  // The pause is waited for by all, once.
  REQUIRE(step_s({R"(/stragglers=[{"ranks": "3", "pause_ms": 20}])"}) ==
          Approx(step_s() + 0.020).epsilon(0.01));
}

TEST_CASE("compression pays on a slow wire by its ratio", "[sensitivity][fidelity]") {
  const Settings slow{"/training/global_batch=16",
                      "/cluster/nic_Gbps=10"};  // 180 of 200 ms are the wire
  require_effects({
      {"fp16", slow, {R"(/compression={"scheme": "fp16"})"}, 0.5, 0.7},
      // A hundredth of the values with their indices, gathered from 16 ranks: 16 x 2 % of the bytes
      // against an all-reduce's 2.
      {"topk 1 %", slow, {R"(/compression={"scheme": "topk"})"}, 0.05, 0.7},
      // Ten times the payload.
      {"topk ratio x10",
       slow + Settings{R"(/compression={"scheme": "topk"})"},
       {"/compression/ratio=0.1"},
       3.0,
       10.0},
      {"powersgd rank 32", slow, {R"(/compression={"scheme": "powersgd", "rank": 32})"}, 0.05, 0.5},
      // Four times the factors to send and to compute; optimizer and forward stay.
      {"powersgd rank x4",
       slow + Settings{R"(/compression={"scheme": "powersgd", "rank": 32})"},
       {"/compression/rank=128"},
       1.1,
       4.0},
  });
  // On 8 x 50 GB/s the exchange is hidden: encode and decode are paid and next to nothing is won.
  const double fast = step_s();
  REQUIRE(step_s({R"(/compression={"scheme": "topk"})"}) > 0.95 * fast);
  REQUIRE(seconds_of(forecast(Settings{R"(/compression={"scheme": "topk"})"}),
                     Category::compression) > 0);
}
