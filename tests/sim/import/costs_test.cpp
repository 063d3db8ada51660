#include "sim/cost/cost_model.hpp"
#include "sim/import/costs/kernel_samples.hpp"
#include "sim/import/costs/op_shapes.hpp"
#include "sim/import/kineto/kineto.hpp"
#include "sim/profile/kernel_key.hpp"
#include "sim/profile/text_of_profile.hpp"
#include "tests/support/temp_path.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
std::string key_of(std::string_view name, const OpShape& shape,
                   std::string_view kernel = "nvjet_tst_128x256") {
  const auto op = costed_op(name, shape, kernel);
  return op ? kernel_key(*op) : "";
}
/// Two calls of one product of 100 and 140 us; in the second a collective runs beside it when
/// `disturbed`.
std::string trace(bool disturbed) {
  const auto op = [](int ts) {
    return R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": )" +
           std::to_string(ts) +
           R"(, "dur": 20, "args": {"Input Dims": [[4096, 1024], [1024, 512]], "Input type": ["c10::BFloat16", "c10::BFloat16"], "Concrete Inputs": ["", ""]}},)";
  };
  const auto launch = [](int ts, int id) {
    return R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": )" +
           std::to_string(ts) + R"(, "dur": 5, "args": {"correlation": )" + std::to_string(id) +
           "}},";
  };
  const auto kernel = [](const char* name, int ts, int dur, int id, int stream) {
    return R"({"ph": "X", "cat": "kernel", "name": ")" + std::string(name) +
           R"(", "pid": 0, "tid": )" + std::to_string(stream) + R"(, "ts": )" + std::to_string(ts) +
           R"(, "dur": )" + std::to_string(dur) + R"(, "args": {"correlation": )" +
           std::to_string(id) + "}}";
  };
  return R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "traceEvents": [)" +
         op(0) + launch(5, 1) + op(100) + launch(105, 2) + launch(106, 3) +
         kernel("nvjet_tst", 50, 100, 1, 7) + "," + kernel("nvjet_tst", 160, 130, 2, 7) + "," +
         kernel("splitKreduce", 290, 10, 3, 7) +
         (disturbed ? "," + kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 200, 50, 9, 20)
                    : "") +
         "]}";
}
}  // namespace

TEST_CASE("operators become the keys of a cost profile", "[costs]") {
  REQUIRE(key_of("aten::mm",
                 {"[[4096, 1024], [1024, 512]]", R"(["c10::BFloat16", "c10::BFloat16"])", ""}) ==
          "gemm/bf16/m4096/n512/k1024/b1");
  REQUIRE(key_of("aten::addmm", {"[[512], [64, 32], [32, 512], [], []]",
                                 R"(["c10::Half", "c10::Half", "c10::Half", "Scalar", "Scalar"])",
                                 ""}) == "gemm/fp16/m64/n512/k32/b1");
  REQUIRE(key_of("aten::bmm", {"[[16, 64, 32], [16, 32, 8]]", R"(["float", "float"])", ""},
                 "sm80_xmma_gemm_f32f32_tf32f32") == "gemm/tf32/m64/n8/k32/b16");
  REQUIRE(key_of("aten::linear", {"[[2, 8, 32], [64, 32], [64]]", R"(["float", "float", "float"])",
                                  ""}) == "gemm/fp32/m16/n64/k32/b1");
  REQUIRE(
      key_of("aten::_flash_attention_forward",
             {"[[2, 512, 16, 64], [2, 512, 4, 64], [2, 512, 4, 64], [], [], [], [], [], [], []]",
              R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"])",
              R"(["", "", "", "", "", "512", "512", "0.", "True", "False"])"}) ==
      "attention_forward/bf16/b2/h16/kv4/q512/k512/d64/v64/causal");
  REQUIRE(key_of("aten::cudnn_convolution", {"[[32, 64, 56, 56], [128, 64, 3, 3], [], [], [], []]",
                                             R"(["c10::Half", "c10::Half"])",
                                             R"(["", "", "[1, 1]", "[2, 2]", "[1, 1]", "1"])"}) ==
          "conv/fp16/n32/c64/h56/w56/o128/f3/s2/g1/forward");
}

TEST_CASE("arguments that do not say enough give no cost", "[costs]") {
  REQUIRE(key_of("aten::mm", {"[[4096, 1024], [512, 512]]", R"(["float", "float"])", ""})
              .empty());  // inner dimensions differ
  REQUIRE(key_of("aten::mm", {"[[4, 1], [1, 5]]", R"(["long int", "long int"])", ""})
              .empty());  // no precision of a profile
  REQUIRE(
      key_of("aten::cudnn_convolution", {"[[32, 64, 56, 56], [128, 64, 3, 3]]", R"(["float"])", ""})
          .empty());  // stride unknown
  REQUIRE(key_of("aten::_flash_attention_forward",
                 {"[[1000, 16, 64], [1000, 16, 64], [1000, 16, 64]]", R"(["c10::Half"])", ""})
              .empty());  // variable lengths
  REQUIRE(key_of("aten::add", {"[[4], [4]]", R"(["float"])", ""}).empty());
}

TEST_CASE("a sample is the sum of an operator's kernels and disturbed calls are left out",
          "[costs]") {
  for (const bool disturbed : {false, true}) {
    const test::TempPath file("c.json", trace(disturbed));
    std::vector<RankTrace> traces;
    traces.push_back(kineto::read_trace(file.path));
    Anomalies anomalies;
    const auto samples = kernel_samples(traces, anomalies);
    REQUIRE(samples.size() == 1);
    REQUIRE(samples[0].key == "gemm/bf16/m4096/n512/k1024/b1");
    // 100 us, and 130 + 10 us: the median of two is their mean.
    REQUIRE(samples[0].median_s() == Approx(disturbed ? 100e-6 : 120e-6));
    REQUIRE(anomalies.count_of("kernel_beside_communication") == (disturbed ? 1 : 0));
  }
}

TEST_CASE("an extended profile is read back and returns the measured time", "[costs]") {
  const test::TempPath file("c.json", trace(false));
  std::vector<RankTrace> traces;
  traces.push_back(kineto::read_trace(file.path));
  Anomalies anomalies;
  const auto samples = kernel_samples(traces, anomalies);
  REQUIRE(bundled_profile_of(traces[0].devices.at(0)) == "h100-sxm5-80g");
  const Profile mine = extended(base_profile("h100-sxm5-80g"), samples, {}, "mine", "test");
  const test::TempPath written("p.profile.json", text_of_profile(mine));
  const Profile back = read_profile(written.path).value_or_throw();
  REQUIRE(back.name == "mine");
  const CostModel model(back, back.gpu, {.host = HostMode::none});
  REQUIRE(model.cost(samples[0].op).duration.value == Approx(120e-6));
}

TEST_CASE("GPUs without a bundled profile get none", "[costs]") {
  for (const char* name : {"NVIDIA H100 PCIe", "NVIDIA H100 NVL", "NVIDIA GeForce RTX 2080 Ti", "",
                           "AMD Instinct MI100"})
    REQUIRE(bundled_profile_of(name).empty());
  REQUIRE(bundled_profile_of("NVIDIA A100-SXM4-80GB") == "a100-sxm4-80g");
  REQUIRE(bundled_profile_of("AMD Instinct MI300X VF") == "mi300x");
}
