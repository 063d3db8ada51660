#include "sim/validate/engine_predictor.hpp"

#include "sim/io/json.hpp"
#include "sim/validate/table_format.hpp"
#include "tests/sim/validate/support.hpp"

using namespace stepcast;

namespace {
const std::string kHeader =
    "gpus,global_batch,micro_batch,hidden,heads,layers,sequence_length,tp,dp,pp,iteration_time_"
    "ms\n";

Json scenario_of_vtrain(const std::string& row) {
  const Questions questions =
      read_questions(test::table_of(kHeader + row), test::shipped_book(), {});
  return Json::parse(std::get<StepQuestion>(questions.list.at(0).what).scenario);
}
Answer ask(const Json& scenario, std::vector<std::int64_t> micro_batches = {},
           Metric metric = Metric::step_time) {
  const auto predictor = make_engine_predictor(EngineKind::native, "");
  return predictor->answer({"t",
                            "t.csv",
                            StepQuestion{scenario.dump(), std::move(micro_batches)},
                            {{"a", metric, 1.0, 0}}});
}
double step_of(const Json& scenario) { return ask(scenario).estimates.at(0).value; }
}  // namespace

TEST_CASE("a measured row is forecast within its order of magnitude and inside its own interval",
          "[validate]") {
  // A public row of this shape took 0.41 s.
  const Answer answer = ask(scenario_of_vtrain("4,16,4,2048,16,24,1024,1,2,2,410\n"));
  REQUIRE(answer.refusal.empty());
  REQUIRE(answer.estimates.at(0).value == Approx(0.41).epsilon(0.3));
  REQUIRE(answer.estimates.at(0).p05 < answer.estimates.at(0).value);
  REQUIRE(answer.estimates.at(0).p95 > answer.estimates.at(0).value);
}

TEST_CASE(
    "a host that waits for pipeline messages slows a pipeline it bounds and nothing without one",
    "[validate]") {
  // Small layers: the GPU waits for launches. Running ahead hides that behind the wait for the
  // other stage, waiting does not.
  Json pipeline = scenario_of_vtrain("4,32,1,1024,16,24,1024,1,2,2,1\n"),
       flat = scenario_of_vtrain("2,32,1,1024,16,24,1024,1,2,1,1\n");
  // A host that reads every loss cannot run ahead on the last stage either way.
  pipeline["strategy"]["loss_blocks_host"] = flat["strategy"]["loss_blocks_host"] = false;
  const double waiting = step_of(pipeline), alone = step_of(flat);
  pipeline["strategy"]["p2p_blocks_host"] = flat["strategy"]["p2p_blocks_host"] = false;
  REQUIRE(waiting > 1.03 * step_of(pipeline));
  REQUIRE(alone == step_of(flat));
}

TEST_CASE("attention heads off the 16 byte grid cost more than wider ones on it", "[validate]") {
  // 2160 / 20 = 108 elements = 216 bytes; 2240 / 20 = 112 = 224 bytes: more work, but aligned.
  const auto step = [](std::int64_t hidden) {
    Json s = scenario_of_vtrain("2,8,4,2240,20,8,1024,1,2,1,1\n");
    s["model"]["hidden"] = hidden;
    s["model"]["ffn"] = 4 * hidden;
    return step_of(s);
  };
  REQUIRE(step(2160) > step(2240));
}

TEST_CASE(
    "an older flash kernel and an unfused loss slow a step and say nothing where they have no "
    "effect",
    "[validate]") {
  Json s = scenario_of_vtrain("8,8,1,2048,16,8,1024,1,8,1,1\n");
  s["training"].erase("fused_loss");
  s["training"]["attention"] = "flash";
  s["training"]["sequence_length"] = 8192;
  s["model"]["max_positions"] = 8192;
  const double best = step_of(s);
  s["training"]["attention_kernel"] = "triton";
  REQUIRE(step_of(s) > 1.02 * best);
  s["training"].erase("attention_kernel");
  s["training"]["fused_loss"] = false;
  REQUIRE(step_of(s) > 1.02 * best);
  s["training"]["attention"] = "unfused";
  s["training"]["attention_kernel"] = "flash2";
  REQUIRE(ask(s).refusal.find("has no effect with attention") != std::string::npos);
}

TEST_CASE("the largest micro-batch that fits is taken and named", "[validate]") {
  // 64 samples of 1024 tokens over 24 unfused layers keep hundreds of GiB; one sample keeps a few.
  const Answer answer = ask(scenario_of_vtrain("2,128,1,2048,16,24,1024,1,2,1,1\n"), {64, 1});
  REQUIRE(answer.note == "micro-batch 1");
}

TEST_CASE("memory is what the allocator holds and a scenario that cannot be says why",
          "[validate]") {
  Json s = scenario_of_vtrain("2,4,1,1024,16,2,1024,1,2,1,1\n");
  const double bytes = ask(s, {}, Metric::peak_memory).estimates.at(0).value;
  // 2 layers of 12 h^2, 51200 + 1024 rows of h: 78.6 M parameters of 16 bytes (fp16 weight and
  // gradient, fp32 copy, moments).
  REQUIRE(bytes > 78.6e6 * 16);
  REQUIRE(bytes < 78.6e6 * 16 + 2e9);
  s["parallel"]["tp"] = 3;
  REQUIRE(ask(s).refusal.find("the scenario is refused: /parallel") == 0);
}
