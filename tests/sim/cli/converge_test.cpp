#include "sim/io/json.hpp"
#include "tests/sim/cli/run_binary.hpp"
#include "tests/support/test.hpp"

using namespace stepcast::test;
using stepcast::Json;
namespace {
// 8 replicas on a node; 3 seeds of 120 steps train in about two seconds.
constexpr const char* kAsync = R"({
  "stepcast": 1, "model": { "preset": "gpt3-125m" },
  "training": { "global_batch": 64, "sequence_length": 1024 }, "strategy": { "preset": "parameter-server" },
  "cluster": { "preset": "dgx-a100-ib200", "nodes": 1 },
  "sync": { "mode": "async", "servers": { "count": 1 } },
  "converge": { "steps": 120, "seeds": 3 }
})";
}  // namespace

TEST_CASE("converge trains in the simulated order and multiplies steps by the simulated time",
          "[cli]") {
  const Folder folder;
  const std::string scenario = folder.write("async.json", kAsync);
  const Finished run =
      run_stepcast({"converge", scenario, "--json", "-o", folder.path("out")}, folder.path());
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  const Json report = Json::parse(run.out);
  REQUIRE(report["points"].size() == 1);
  const Json& point = report["points"][0];
  CHECK(point["workers"] == 8);
  CHECK(point["samples_per_step"] == 8 * 16);
  // Nobody waits: while one of 8 equal workers computes, the 7 others update.
  CHECK(point["mean_staleness"].get<double>() == Approx(7).margin(1));
  const Json& steps = point["steps_to_target"];
  REQUIRE(steps["p50"].is_number());
  CHECK(point["time_to_target_s"]["p50"].get<double>() ==
        Approx(steps["p50"].get<double>() * point["step_time_s"].get<double>()));
  CHECK(Json::parse(content_of(folder.path("out/convergence.json"))) == report);
  CHECK(lines_of(content_of(folder.path("out/curves.csv"))).front() ==
        "point,seed,step,held_out_loss");
  CHECK(content_of(folder.path("out/curves.png")).substr(1, 3) == "PNG");
}

TEST_CASE("converge gives the same report again for the same seed and another for another",
          "[cli]") {
  const Folder folder;
  const std::string scenario = folder.write("async.json", kAsync);
  const auto losses = [&](const std::string& seed) {
    const Finished run =
        run_stepcast({"converge", scenario, "--json", "--seed", seed}, folder.path());
    REQUIRE(run.exit_code == 0);
    return Json::parse(run.out)["points"][0]["final_loss"];
  };
  const Json first = losses("5");
  CHECK(losses("5") == first);
  CHECK(losses("6") != first);
}

TEST_CASE("converge refuses what it cannot train in one sentence", "[cli]") {
  const Folder folder;
  const std::string scenario = folder.write("async.json", kAsync);
  const auto refused = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"converge", scenario};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished run = run_stepcast(arguments, folder.path());
    CHECK(run.exit_code == 2);
    return run.err;
  };
  CHECK(refused({"--set", "/converge/worker=3"}).find("did you mean \"workers\"") !=
        std::string::npos);
  CHECK(refused({"--set", "/converge/workers=3"}).find("simulated for 8 workers") !=
        std::string::npos);
  CHECK(refused({"--set", "/converge/corpus=x"}).find("no effect on task teacher") !=
        std::string::npos);
  CHECK(refused({"--vary", "/converge/task=teacher,text"}).find("two tasks") != std::string::npos);
  CHECK(refused({"--set", "/converge/optimizer=adam", "--set", "/converge/momentum=0.5"})
            .find("no effect on adam") != std::string::npos);
}
