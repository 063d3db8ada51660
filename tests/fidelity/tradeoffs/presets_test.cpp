// What sets each framework apart shows in the simulated step.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/engine/lowering/cycle_plan.hpp"
#include "tests/fidelity/jobs/base_job.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;
namespace {
/// A strategy for the base job, on as many nodes as it can train on.
Settings preset(const std::string& name) {
  Settings settings{"/strategy/preset=" + name};
  if (name == "tf-mirrored") settings.emplace_back("/cluster/nodes=1");
  return settings;
}
const Settings kNarrow{"/cluster/nics=1", "/cluster/nic_Gbps=100"};
double samples_per_s(const Forecast& f) { return f.sync->samples_per_s; }
}  // namespace

TEST_CASE("every strategy preset has a page that says what is modelled and what is not",
          "[tradeoffs]") {
  for (const std::string& name : preset_names("strategies")) {
    INFO(name);
    std::ifstream page(source_dir() + "/docs/strategies/" + name + ".md");
    std::stringstream text;
    text << page.rdbuf();
    CHECK(text.str().find("**Modelled**") != std::string::npos);
    CHECK(text.str().find("**Not modelled**") != std::string::npos);
  }
}

TEST_CASE("every strategy preset simulates the base job", "[tradeoffs]") {
  for (const std::string& name : preset_names("strategies")) {
    INFO(name);
    CHECK(forecast(preset(name) + Settings{"/strategy/host=none"}).outcome.step_s > 0);
  }
}

TEST_CASE("Horovod packs what is ready at each cycle and no more than the threshold",
          "[tradeoffs]") {
  // Cycle 1 s, threshold 5. Ready 0.2, 0.9 -> cycle 1; 1.0 is seen at 1 as well; 1.5 (4), 1.6 (4):
  // cycle 2, two buffers.
  const BucketPlan plan = fuse_by_cycle({0.2, 0.9, 1.0, 1.5, 1.6}, {1, 1, 1, 4, 4}, 1, 5, 0.01);
  CHECK(plan.tensors == std::vector<int>{3, 1, 1});
  CHECK(plan.hold_s[0] == Approx(0.01));  // its last tensor was ready at 1.0
  CHECK(plan.hold_s[1] == Approx(0.51));
  CHECK(plan.hold_s[2] == 0);
}

TEST_CASE("a longer Horovod cycle makes fewer buffers that leave later", "[tradeoffs]") {
  const auto plan_of = [](const char* cycle) {
    const Scenario s = job(preset("horovod") + Settings{std::string("/strategy/cycle_ms=") + cycle,
                                                        "/strategy/host=none"});
    return *plan_cycles(s, model_work(s.model, s.training, s.parallel),
                        profile_of(s).value_or_throw());
  };
  CHECK(plan_of("1").tensors.size() > plan_of("20").tensors.size());
  const auto step = [](const char* cycle) {
    return step_s(preset("horovod") + kNarrow +
                  Settings{std::string("/strategy/cycle_ms=") + cycle, "/strategy/host=none"});
  };
  CHECK(step("200") > step("5"));
}

TEST_CASE("Horovod's negotiation delays every cycle that has tensors", "[tradeoffs]") {
  const auto step = [](const char* hop) {
    return step_s(preset("horovod") + Settings{std::string("/strategy/negotiation_hop_us=") + hop,
                                               "/strategy/host=none"});
  };
  CHECK(step("2000") > step("20"));
}

TEST_CASE("DDP with find_unused_parameters ends with one more all-reduce", "[tradeoffs]") {
  CHECK(step_s(preset("pytorch-ddp-find-unused")) > step_s(preset("pytorch-ddp")));
  const auto events = [](const char* name) { return forecast(preset(name)).outcome.events; };
  CHECK(events("pytorch-ddp-find-unused") > events("pytorch-ddp"));
}

TEST_CASE("FSDP gathers parameters again for the backward unless told to keep them",
          "[tradeoffs]") {
  const auto bytes = [](const char* reshard) {
    const Forecast f = forecast(preset("fsdp") +
                                Settings{std::string("/strategy/reshard_after_forward=") + reshard,
                                         "/training/global_batch=16"});
    return f.outcome.payload_bytes[static_cast<std::size_t>(GroupKind::dp)];
  };
  CHECK(bytes("true") > 1.2 * bytes("false"));
}

TEST_CASE("offload moves the optimizer off the GPU and the CPUs set the pace", "[tradeoffs]") {
  const Forecast gpu = forecast(preset("deepspeed-zero2")),
                 cpu = forecast(preset("deepspeed-zero2-offload"));
  CHECK(gpu.memory[0].optimizer > 0);
  CHECK(cpu.memory[0].optimizer == 0);
  CHECK(cpu.outcome.step_s > gpu.outcome.step_s);
  CHECK(step_s(preset("deepspeed-zero2-offload") +
               Settings{"/strategy/cpu_update_Gparameters_per_s=0.5"}) > cpu.outcome.step_s);
  const double narrow =
      step_s(preset("deepspeed-zero3-offload") + Settings{"/cluster/host_to_device_GBps=2"});
  CHECK(narrow > step_s(preset("deepspeed-zero3-offload")));
}

TEST_CASE("BytePS on as many dedicated servers as nodes is limited by the servers' ports",
          "[tradeoffs]") {
  const auto step = [](int servers) {
    return samples_per_s(forecast(
        preset("byteps") + kNarrow +
        Settings{
            "/cluster/nodes=4", "/strategy/host=none",
            fmt::format(
                R"(/sync/servers={{"count": {}, "placement": "dedicated", "nic_Gbps": 100, "updates": false, "local_reduction": true, "overlap_pull": true}})",
                servers)}));
  };
  CHECK(step(4) > 1.3 * step(1));
}

TEST_CASE("BytePS reduces inside the node and pushes once and lets the next forward start early",
          "[tradeoffs]") {
  const Settings base =
      preset("byteps") + kNarrow + Settings{"/cluster/nodes=4", "/strategy/host=none"};
  const Forecast local = forecast(base),
                 all = forecast(base + Settings{"/sync/servers/local_reduction=false"});
  CHECK(local.sync->per_worker.size() == 4);
  CHECK(all.sync->per_worker.size() == 32);
  CHECK(local.sync->bytes_sent < all.sync->bytes_sent / 4);
  CHECK(samples_per_s(local) >=
        samples_per_s(forecast(base + Settings{"/sync/servers/overlap_pull=false"})) * (1 - 1e-9));
}

TEST_CASE("TensorFlow's round-robin leaves one server with the largest variable", "[tradeoffs]") {
  const auto spread = [](const char* sharding) {
    const Forecast f = forecast(
        preset("tf-parameter-server") + kNarrow +
        Settings{"/strategy/host=none", "/strategy/framework=pytorch",
                 fmt::format(
                     R"(/sync/servers={{"count": 4, "placement": "dedicated", "sharding": "{}"}})",
                     sharding),
                 "/run/steps=6"});
    double least = 1e300, most = 0;
    for (const ServerUse& s : f.sync->servers)
      least = std::min(least, s.stored_bytes), most = std::max(most, s.stored_bytes);
    return std::pair{most / least, samples_per_s(f)};
  };
  const auto whole = spread("round-robin"), cut = spread("size");
  CHECK(whole.first > 1.3);
  CHECK(cut.first < 1.05);
  CHECK(cut.second > whole.second);
}

TEST_CASE("SageMaker's balanced buffers load every server alike", "[tradeoffs]") {
  const Forecast f =
      forecast(preset("sagemaker-dp") + Settings{"/cluster/nodes=4", "/strategy/host=none"});
  REQUIRE(f.sync->servers.size() == 4);
  for (const ServerUse& s : f.sync->servers)
    CHECK(s.stored_bytes == Approx(f.sync->servers[0].stored_bytes).epsilon(0.05));
}

TEST_CASE("TensorFlow's mirrored strategies and TPUStrategy reduce after the backward",
          "[tradeoffs]") {
  for (const char* name : {"tf-multiworker", "tf-mirrored", "tf-tpu"}) {
    INFO(name);
    const Settings base = preset(name) + kNarrow + Settings{"/strategy/host=none"};
    CHECK(step_s(base) >
          step_s(base + Settings{"/strategy/overlap_grad_reduce=true", "/strategy/bucket_MiB=25"}));
  }
}

TEST_CASE("Ray Train is DDP that meets the host at each step's end", "[tradeoffs]") {
  CHECK(step_s(preset("ray-train") + Settings{"/strategy/host=eager"}) >=
        step_s(preset("pytorch-ddp") + Settings{"/strategy/host=eager"}));
}

TEST_CASE("Colossal-AI's pipeline messages block compute", "[tradeoffs]") {
  const Settings pipeline =
      preset("colossalai-hybrid") + Settings{"/parallel/pp=4", "/training/global_batch=64",
                                             "/cluster/nic_Gbps=10", "/strategy/host=none"};
  const auto shown = [](const Settings& s) {
    return seconds_of(forecast(s), Category::exposed_pp);
  };
  CHECK(shown(pipeline) > shown(pipeline + Settings{"/strategy/overlap_p2p=true"}));
}

TEST_CASE("local SGD's communication falls with its period", "[tradeoffs]") {
  const auto rate = [](int period) {
    return samples_per_s(
        forecast(preset("local-sgd") + kNarrow +
                 Settings{fmt::format("/sync/period={}", period), "/strategy/host=none"}));
  };
  CHECK(rate(8) > rate(2));
  CHECK(rate(2) > rate(1));
}
