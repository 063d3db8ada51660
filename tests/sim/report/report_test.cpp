#include "sim/report/report.hpp"

#include "sim/io/json.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
namespace {
/// One GPU of 100 TFLOP/s that runs one layer of 1e12 FLOP forward, 2e12 backward and 1e12 again
/// for recomputation.
Scenario one_gpu() {
  Scenario s;
  s.file = "tiny.json";
  s.model.name = "tiny";
  s.model.kind = ModelKind::transformer;
  s.training.global_batch = 4;
  s.training.micro_batch = 2;
  s.training.sequence_length = 10;
  NodeSpec node;
  node.gpus = 1;
  node.gpu.peak_flops.fill(100e12);
  node.gpu.memory = Bytes(std::int64_t{4} << 30);
  node.usd_per_hour = 36;
  s.cluster.name = "one";
  s.cluster.groups.push_back({node, 1});
  return s;
}
Forecast forecast() {
  Forecast f;
  f.outcome.step_s = 0.5;
  f.outcome.breakdown[static_cast<std::size_t>(Category::compute)] = 0.4;
  f.outcome.breakdown[static_cast<std::size_t>(Category::bubble)] = 0.1;
  f.step_times = {0.5};
  LayerWork layer;
  Op op;
  op.flops = Flops(1e12);
  layer.forward = {op};
  layer.recompute = {op};
  layer.backward = {op, op};
  f.work.kinds = {layer};
  f.work.blocks = {0};
  f.work.model_flops_per_sample = Flops(1.5e12);
  f.memory = {{.parameters = 1e9, .total = 5.0 * (1 << 30), .stage = 0}};
  return f;
}
Json report(const Forecast& f) {
  return report_json(one_gpu(), {}, f,
                     {.wall_s = 0.1, .peak_rss_MiB = 20, .engine = EngineKind::native});
}
}  // namespace

TEST_CASE("throughput is batch over step and utilisation is FLOP over time and peak", "[report]") {
  const Json r = report(forecast());
  CHECK(r["samples_per_s"] == 8.0);  // 4 / 0.5 s
  CHECK(r["tokens_per_s"] == 80.0);  // 4 * 10 / 0.5 s
  // model: 4 * 1.5e12 / (0.5 s * 100e12) = 0.12; hardware: 2 micro-batches * 4e12 / 50e12 = 0.16
  CHECK(r["model_flops_utilization"].get<double>() == Approx(0.12));
  CHECK(r["hardware_flops_utilization"].get<double>() == Approx(0.16));
}

TEST_CASE("a run's throughput is that of its mean step though most steps are shorter", "[report]") {
  Forecast f = forecast();
  f.step_times = {0.5, 0.5, 0.5, 2.5};  // mean 1 s, median 0.5 s
  const Json r = report(f);
  CHECK(r["step_time_s"]["p50"] == 0.5);
  CHECK(r["samples_per_s"] == 4.0);
  CHECK(r["model_flops_utilization"].get<double>() == Approx(0.06));
  CHECK(r["money"]["usd_per_step"].get<double>() == Approx(0.01));  // 36 USD/h for 1 s
  CHECK(report_text(r).find("mean step       1.000 s   of 4 steps") != std::string::npos);
  CHECK(report_text(report(forecast())).find("mean step") == std::string::npos);
}

TEST_CASE("the rate of a slow device keeps two digits", "[report]") {
  Json r = report(forecast());
  r["model_TFLOP_per_s_per_gpu"] = 0.1123;  // a core of a CPU
  CHECK(report_text(r).find("   0.11 TFLOP/s per GPU") != std::string::npos);
}

TEST_CASE("replicas out of lockstep are paced by the samples they took", "[report]") {
  Forecast f = forecast();
  f.sync.emplace();
  f.sync->samples_per_s = 2;
  f.sync->updates.resize(1);
  const Json r = report(f);
  CHECK(r["samples_per_s"] == 2.0);
  CHECK(r["step_time_s"]["mean"] == 2.0);  // 4 samples at 2 per second
}

TEST_CASE("money is the rent of the nodes for a step", "[report]") {
  const Json r = report(forecast());
  // 36 USD/h * 0.5 s = 0.005 USD for 40 tokens: 125 000 USD per 1e9 tokens
  CHECK(r["money"]["usd_per_step"].get<double>() == Approx(0.005));
  CHECK(r["money"]["usd_per_billion_tokens"].get<double>() == Approx(125000));
}

TEST_CASE("a stage above the GPU's memory does not fit and is warned of", "[report]") {
  const Json r = report(forecast());
  CHECK(r["memory_GiB"]["fits"] == false);
  CHECK(r["memory_GiB"]["worst"] == 5.0);
  CHECK(r["warnings"][0] == "does not fit: the fullest stage needs 5.0 GiB of 4.0 GiB");
}

TEST_CASE("the interval joins spread of steps and calibration", "[report]") {
  Forecast f = forecast();
  f.relative_sigma = 0.1;
  // one step: 1.6449 * 0.1 * 0.5 s either side
  CHECK(report(f)["step_time_s"]["p95"].get<double>() == Approx(0.5 + 0.082243).epsilon(1e-5));
  f.relative_sigma = 0;
  f.step_times = {0.4, 0.5, 0.6};
  const Json r = report(f);
  // type 7: the 5 % quantile of three lies a tenth between the first two: 0.41
  CHECK(r["step_time_s"]["p05"].get<double>() == Approx(0.41));
  CHECK(r["step_time_s"]["mean"].get<double>() == Approx(0.5));
}

TEST_CASE("a breakdown that does not sum to the step is our fault", "[report]") {
  Forecast f = forecast();
  f.outcome.breakdown[0] = 0.39;
  CHECK_THROWS_AS(report(f), InternalError);
}

TEST_CASE("the text names what fills the step with its share", "[report]") {
  const std::string text = report_text(report(forecast()));
  CHECK(text.find("compute           400.000 ms   80.0 %") != std::string::npos);
  CHECK(text.find("DOES NOT FIT") != std::string::npos);
  CHECK(text.find("exposed_tp") == std::string::npos);  // nothing there
}

TEST_CASE("a comparison lists the change of every category", "[report]") {
  Forecast slower = forecast();
  slower.outcome.step_s = 0.6;
  slower.step_times = {0.6};
  slower.outcome.breakdown[static_cast<std::size_t>(Category::bubble)] = 0.2;
  const Json c = comparison_json(report(forecast()), report(slower), "a", "b");
  CHECK(c["step_time_s"]["difference"].get<double>() == Approx(0.1));
  CHECK(c["breakdown_s"]["bubble"]["relative"].get<double>() == Approx(1.0));
  CHECK(c["breakdown_s"]["compute"]["difference"] == 0.0);
  CHECK(comparison_text(c).find("bubble") != std::string::npos);
  CHECK_THROWS_AS(comparison_json(Json::object(), report(slower), "a", "b"), InputError);
}
