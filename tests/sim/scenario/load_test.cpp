#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "sim/io/files.hpp"
#include "sim/io/json.hpp"
#include "sim/scenario/scenario.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
namespace {
Scenario loaded(const std::string& json) {
  return scenario_of(Json::parse(json, nullptr, true, true), "test.json").value_or_throw();
}
const std::string kTiny =
    R"("model": {"preset": "gpt3-125m"}, "cluster": {"preset": "dgx-h100-ib400", "nodes": 2})";

class Files {
 public:
  Files()
      : folder_(std::filesystem::temp_directory_path() /
                ("stepcast_load_" + std::to_string(getpid()))) {}
  ~Files() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = (folder_ / name).string();
    write_file(path, text);
    return path;
  }

 private:
  std::filesystem::path folder_;
};
}  // namespace

TEST_CASE("a scenario of model and cluster alone is whole and says which defaults it took",
          "[scenario]") {
  const Scenario s = loaded("{" + kTiny + "}");
  CHECK(s.parallel.dp == 16);                 // 2 nodes x 8 GPUs / (1 x 1 x 1)
  CHECK(s.training.global_batch == 16);       // one micro-batch of 1 on each of 16 replicas
  CHECK(s.training.sequence_length == 2048);  // the model's learned positions
  CHECK(s.strategy.preset == "megatron");
  CHECK(s.parallel.zero_stage == 1);  // Megatron's distributed optimizer
  REQUIRE(s.notes.size() == 4);       // and the batch, the sequence length, the spread of clocks
  CHECK(s.notes[0] == "parallel.dp = 16 from 16 GPUs / (tp 1 x pp 1 x cp 1)");
}

TEST_CASE("a batch left out under a pipeline is four micro-batches per stage", "[scenario]") {
  // dp = 16 / (2 x 4) = 2 replicas, 4 * 4 micro-batches of 3: 2 * 16 * 3 = 96
  const Scenario s =
      loaded("{" + kTiny + R"(, "parallel": {"tp": 2, "pp": 4}, "training": {"micro_batch": 3}})");
  CHECK(s.training.global_batch == 96);
}

TEST_CASE("what a scenario writes wins over its strategy's defaults", "[scenario]") {
  const Scenario fsdp = loaded("{" + kTiny + R"(, "strategy": {"preset": "fsdp"}})");
  CHECK(fsdp.parallel.zero_stage == 3);
  CHECK(fsdp.training.gradient_precision == Precision::bf16);
  const Scenario changed =
      loaded("{" + kTiny + R"(, "strategy": {"preset": "fsdp"}, "parallel": {"zero_stage": 2}})");
  CHECK(changed.parallel.zero_stage == 2);
}

TEST_CASE("a value restated in another unit replaces the preset's", "[scenario]") {
  // the preset says nic_Gbps 400 and bucket_elements
  const Scenario s = loaded(
      R"({"model": {"preset": "gpt3-125m"}, "cluster": {"preset": "dgx-h100-ib400", "nodes": 2, "nic_GBps": 25}, "strategy": {"bucket_MiB": 8}})");
  CHECK(s.cluster.node(0).nic_bandwidth.value == 25e9);
  CHECK(s.strategy.bucket_bytes == Bytes(8 << 20));
}

TEST_CASE("includes lie below the file and settings above it", "[scenario]") {
  const Files files;
  files.write("base/tiny.json",
              "{" + kTiny + R"(, "training": {"global_batch": 64, "micro_batch": 2}})");
  files.write("middle.json", R"({"include": "base/tiny.json", "training": {"global_batch": 128}})");
  const std::string top = files.write(
      "top.json", R"({"include": ["middle.json"], "training": {"sequence_length": 1024}})");
  const Scenario s =
      load_scenario(top, {"/training/micro_batch=4", "/cluster/nodes=1"}).value_or_throw();
  CHECK(s.training.global_batch == 128);
  CHECK(s.training.sequence_length == 1024);
  CHECK(s.training.micro_batch == 4);
  CHECK(s.cluster.nodes() == 1);
}

TEST_CASE("a problem names the file that has to change", "[scenario]") {
  const Files files;
  const std::string base =
      files.write("base.json", "{" + kTiny + R"(, "training": {"micro_batch": -2}})");
  const std::string top =
      files.write("top.json", R"({"include": "base.json", "run": {"seeds": 3}})");
  const auto result = load_scenario(top, {"/parallel/tp=\"x\""});
  REQUIRE_FALSE(result);
  const auto& list = result.problems().list();
  REQUIRE(list.size() == 3);
  for (const Problem& p : list) {
    if (p.place == "/run/seeds")
      CHECK(p.file == top);
    else if (p.place == "/parallel/tp")
      CHECK(p.file == "--set");
    else
      CHECK((p.file == base && p.place == "/training/micro_batch"));
  }
}

TEST_CASE("an element of a list can be set", "[scenario]") {
  const Files files;
  const std::string path = files.write(
      "s.json", "{" + kTiny + R"(, "stragglers": [{"ranks": "3", "compute_slowdown": 2}]})");
  const Scenario s = load_scenario(path, {"/stragglers/0/compute_slowdown=1.5"}).value_or_throw();
  CHECK(s.stragglers.at(0).compute_slowdown == 1.5);
  CHECK(s.stragglers.at(0).ranks == std::vector<std::pair<int, int>>{{3, 3}});
}

TEST_CASE("a bare collective needs a cluster and nothing else", "[scenario]") {
  const Scenario s = loaded(
      R"({"collective": {"operation": "all_to_all", "sizes_B": [1024]}, "cluster": {"preset": "dgx-h100-ib400", "nodes": 4}})");
  REQUIRE(s.collective_sweep);
  CHECK(s.collective_sweep->collective == Collective::all_to_all);
  CHECK(s.collective_sweep->sizes == std::vector<Bytes>{Bytes(1024)});
}

TEST_CASE("the GPU of a cluster implies its profile", "[scenario]") {
  const Profile profile = profile_of(loaded("{" + kTiny + "}")).value_or_throw();
  CHECK(profile.name == "h100-sxm5-80g");
}

TEST_CASE("a cluster may take the device that its profile was measured on", "[scenario]") {
  const std::string on_profile =
      R"({"model": {"preset": "gpt3-125m"}, "cluster": {"nodes": 1, "gpus_per_node": 1, "gpu": "profile"})";
  const Scenario s = loaded(on_profile + R"(, "profile": "a100-sxm4-80g"})");
  CHECK(s.cluster.groups.front().spec.gpu.name == profile_of(s).value_or_throw().gpu.name);
  const auto problems = [](const std::string& json) {
    const auto result = scenario_of(Json::parse(json), "test.json");
    return result ? std::string() : result.problems().text();
  };
  CHECK_THAT(problems(on_profile + "}"),
             Catch::Contains("test.json /cluster/gpu: is \"profile\", but no profile is named"));
  const std::string missing = problems(on_profile + R"(, "profile": "out/none.profile.json"})");
  CHECK_THAT(missing, Catch::Contains("out/none.profile.json") &&
                          !Catch::Contains("the hardware is expected"));
}

TEST_CASE("what a GPU lacks is refused and never made up", "[scenario]") {
  const auto problems = [](const std::string& json) {
    const auto s = scenario_of(Json::parse(json), "test.json");
    return s ? std::string() : s.problems().text();
  };
  const std::string on_v100 =
      R"({"model": {"preset": "gpt3-125m"}, "cluster": {"preset": "dgx-v100"})";
  const Scenario by_default = loaded(on_v100 + "}");
  CHECK(by_default.training.precision == Precision::fp16);
  CHECK(std::count(by_default.notes.begin(), by_default.notes.end(),
                   "training.precision = fp16: v100-sxm2-32g computes no bf16") == 1);
  CHECK(problems(on_v100 + R"(, "training": {"precision": "bf16"}})") ==
        "test.json /training/precision: v100-sxm2-32g states no rate for bf16; it has fp32, fp16, "
        "int8");
  CHECK(
      problems(
          R"({"model": {"preset": "gpt3-125m"}, "cluster": {"preset": "dgx-h100-ib400", "intra": "pcie"}})") ==
      "test.json /cluster/intra: is pcie, but in_switch_reduction is true: only an NVSwitch "
      "reduces; set in_switch_reduction to false");
}

TEST_CASE("a torus of another size names a shape that fits", "[scenario]") {
  const auto s = scenario_of(
      Json::parse(
          R"({"model": {"preset": "gpt3-125m"}, "cluster": {"preset": "tpu-v5p", "nodes": 96}})"),
      "test.json");
  REQUIRE_FALSE(s);
  CHECK(s.problems().text().find("holds 512 nodes, but the cluster has 96; state a shape of 96 "
                                 "nodes, for example [4, 4, 6]") != std::string::npos);
}

TEST_CASE("one figure of a preset's GPU can be changed", "[scenario]") {
  const Scenario s = loaded(
      R"({"model": {"preset": "gpt3-125m"}, "cluster": {"preset": "dgx-h100-ib400", "nodes": 2, "gpu": {"memory_GBps": 1600}}})");
  const GpuSpec gpu = s.cluster.node(0).gpu;
  CHECK(gpu.name == "h100-sxm5-80g");
  CHECK(gpu.memory_bandwidth.value == 1600e9);
  CHECK(gpu.peak(Precision::bf16).value == 989e12);
}

TEST_CASE("without a pipeline every schedule is plain accumulation", "[scenario]") {
  for (const char* schedule : {"gpipe", "zero-bubble", "interleaved"}) {
    const Scenario s = loaded("{" + kTiny + R"(, "parallel": {"schedule": ")" + schedule + "\"}}");
    CHECK(s.parallel.schedule == ScheduleKind::one_f_one_b);
    CHECK(std::count(s.unused.begin(), s.unused.end(),
                     "/parallel/schedule has no effect: pp is 1") == 1);
  }
}

TEST_CASE("keys of transformers have no effect on an image model", "[scenario]") {
  const Scenario s = loaded(
      R"({"model": {"preset": "resnet-50"}, "cluster": {"preset": "dgx-h100-ib400", "nodes": 2},
          "strategy": {"preset": "pytorch-ddp"},
          "training": {"attention": "unfused", "fused_loss": true, "sequence_length": 1024}})");
  const std::string all = joined(s.unused, "\n");
  for (const char* key : {"attention", "fused_loss", "sequence_length"}) {
    INFO(key);
    CHECK(all.find("/training/" + std::string(key) + " has no effect: only transformers") !=
          std::string::npos);
  }
  const Scenario moe = loaded(
      R"({"model": {"preset": "mixtral-8x7b", "ffn": 28672},
          "cluster": {"preset": "dgx-h100-ib400", "nodes": 2}, "parallel": {"tp": 1, "ep": 8}})");
  CHECK(joined(moe.unused, "\n").find("/model/ffn has no effect: every layer has experts") !=
        std::string::npos);
  const Scenario staged = loaded("{" + kTiny + R"(, "parallel": {"pp": 2, "zero_stage": 2}})");
  CHECK(joined(staged.unused, "\n").find("/parallel/zero_stage has no effect: in a pipeline") !=
        std::string::npos);
}

TEST_CASE("every model and every cluster preset is read without a problem", "[scenario]") {
  for (const std::string& model : preset_names("models")) {
    INFO(model);
    const auto s =
        scenario_of(Json::parse(R"({"model": {"preset": ")" + model +
                                R"("}, "cluster": {"preset": "dgx-h100-ib400", "nodes": 2}})"),
                    "test.json");
    CHECK((s ? "" : s.problems().text()) == "");
  }
  for (const std::string& cluster : preset_names("clusters")) {
    INFO(cluster);
    const auto s = scenario_of(
        Json::parse(
            R"({"model": {"preset": "gpt3-125m"}, "profile": "h100-sxm5-80g", "cluster": {"preset": ")" +
            cluster + R"("}})"),
        "test.json");
    CHECK((s ? "" : s.problems().text()) == "");
  }
}

TEST_CASE("a setting replaces a whole section and keeps nothing that the file had in it",
          "[scenario]") {
  const Files files;
  const std::string path = files.write(
      "dgc.json",
      "{" + kTiny + R"(, "compression": {"scheme": "dgc", "ratio": 0.01, "warmup_steps": 8}})");
  const Scenario s = load_scenario(path, {R"(/compression={"scheme": "int8"})"}).value_or_throw();
  CHECK(s.compression.scheme == CompressionScheme::int8);
  CHECK(s.compression.warmup_steps == 0);
  // Key by key the rest stays.
  CHECK(load_scenario(path, {"/compression/warmup_steps=4"}).value_or_throw().compression.ratio ==
        0.01);
}
