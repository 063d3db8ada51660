#include <cmath>

#include "sim/io/json.hpp"
#include "tests/sim/cli/run_binary.hpp"
#include "tests/support/test.hpp"

using namespace stepcast::test;
using stepcast::Json;
namespace {
Json simulated(const Folder& folder, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"simulate", folder.write("small.json", kSmallScenario),
                                     "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Finished run = run_stepcast(arguments, folder.path());
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  return Json::parse(run.out);  // throws when anything else stands on standard output
}
double p50(const Json& report) { return report["step_time_s"]["p50"].get<double>(); }
}  // namespace

TEST_CASE("the report has every name of its schema and the categories sum to the step", "[cli]") {
  const Folder folder;
  const Json r = simulated(folder);
  for (const char* key : {"p05", "p50", "p95", "mean"}) CHECK(r["step_time_s"].contains(key));
  double sum = 0;
  for (const char* key :
       {"compute", "exposed_tp", "exposed_pp", "exposed_dp", "exposed_ep", "exposed_cp", "bubble",
        "straggler_wait", "compression", "data_stall", "optimizer", "launch_gap", "other"}) {
    REQUIRE(r["breakdown_s"].contains(key));
    CHECK(r["breakdown_s"][key].get<double>() >= 0);
    sum += r["breakdown_s"][key].get<double>();
  }
  CHECK(r["breakdown_s"].size() == 13);
  CHECK(std::abs(sum - p50(r)) <= 1e-9 * p50(r));
  for (const char* key :
       {"tokens_per_s", "samples_per_s", "model_flops_utilization", "hardware_flops_utilization",
        "memory_GiB", "network", "extrapolated", "warnings", "provenance", "simulation"}) {
    INFO(key);
    CHECK(r.contains(key));
  }
  for (const char* key :
       {"parameters", "gradients", "optimizer", "activations", "buffers", "total"})
    CHECK(r["memory_GiB"]["per_stage"][0].contains(key));
  CHECK(r["memory_GiB"]["per_stage"].size() == 2);
  CHECK(r["provenance"]["profile"] == "h100-sxm5-80g");
  for (const char* key : {"wall_s", "peak_rss_MiB", "events"}) CHECK(r["simulation"].contains(key));
}

TEST_CASE("throughput and utilisation follow from the step", "[cli]") {
  const Folder folder;
  const Json r = simulated(folder);
  // 32 samples of 2048 tokens per step
  CHECK(r["samples_per_s"].get<double>() == Approx(32 / p50(r)));
  CHECK(r["tokens_per_s"].get<double>() == Approx(32 * 2048 / p50(r)));
  CHECK(r["model_flops_utilization"].get<double>() > 0);
  // without recomputation the hardware does the model's FLOP, or less where causal attention skips
  // half
  CHECK(r["hardware_flops_utilization"].get<double>() <= 1);
}

TEST_CASE("the same seed gives the same bytes", "[cli]") {
  const Folder folder;
  const std::vector<std::string> jitter{
      "--set", R"(/stragglers=[{"ranks":"*","jitter":{"distribution":"lognormal","sigma":0.1}}])",
      "--seed", "7"};
  Json a = simulated(folder, jitter), b = simulated(folder, jitter);
  for (Json* r : {&a, &b}) {
    (*r)["simulation"].erase("wall_s");
    (*r)["simulation"].erase("peak_rss_MiB");
  }
  CHECK(a.dump() == b.dump());
  std::vector<std::string> other = jitter;
  other.back() = "8";
  CHECK(p50(simulated(folder, other)) != p50(a));
}

TEST_CASE("option -o writes the report and a trace that names nodes ranks and streams", "[cli]") {
  const Folder folder;
  const Json printed = simulated(folder, {"-o", folder.path("out")});
  const Json written = stepcast::read_json_file(folder.path("out/report.json")).value_or_throw();
  CHECK(written.dump() == printed.dump());
  const Json trace =
      stepcast::read_json_file(folder.path("out/trace.json.gz"), 256).value_or_throw();
  int spans = 0, arrows = 0;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") ++spans;
    if (event["ph"] == "s") ++arrows;
  }
  CHECK(spans > 10);
  CHECK(arrows > 0);  // two stages exchange messages
}

TEST_CASE("the three engines agree on a step without contention", "[cli]") {
  const Folder folder;
  const double simgrid = p50(simulated(folder, {"--engine", "simgrid"}));
  CHECK(p50(simulated(folder, {"--engine", "native"})) == Approx(simgrid).epsilon(1e-9));
  CHECK(p50(simulated(folder, {"--engine", "analytic"})) == Approx(simgrid).epsilon(0.01));
}

TEST_CASE("the text report shows step and memory and what fills the step", "[cli]") {
  const Folder folder;
  const Finished run =
      run_stepcast({"simulate", folder.write("small.json", kSmallScenario)}, folder.path());
  REQUIRE(run.exit_code == 0);
  for (const char* part : {"step   ", "90 % interval", "tokens/s", "MFU", "what fills the step",
                           "compute", "memory ", "fits", "simulated "}) {
    INFO(part);
    CHECK(run.out.find(part) != std::string::npos);
  }
}

TEST_CASE("a collective sweep prints nccl-tests' columns", "[cli]") {
  const Folder folder;
  const std::string path = folder.write(
      "c.json",
      R"({"collective": {"operation": "all_reduce", "sizes_B": [1048576, 1073741824]}, "cluster": {"preset": "dgx-h100-ib400", "nodes": 2}})");
  const Finished run = run_stepcast({"simulate", path, "--json"});
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  const Json r = Json::parse(run.out);
  REQUIRE(r["points"].size() == 2);
  for (const Json& p : r["points"]) {
    // algbw = S / t; busbw = algbw * 2(n-1)/n with n = 16
    const double algbw = p["size_B"].get<double>() / (p["time_us"].get<double>() * 1e-6) / 1e9;
    CHECK(p["algbw_GBps"].get<double>() == Approx(algbw));
    CHECK(p["busbw_GBps"].get<double>() == Approx(algbw * 2 * 15 / 16));
  }
  const Finished text = run_stepcast({"simulate", path});
  for (const char* column : {"size", "time", "algbw", "busbw"})
    CHECK(text.out.find(column) != std::string::npos);
}

TEST_CASE("comparing a report with itself finds no difference and with a slower one finds where",
          "[cli]") {
  const Folder folder;
  simulated(folder, {"-o", folder.path("a")});
  const Json slow = simulated(folder, {"-o", folder.path("b"), "--set",
                                       R"(/stragglers=[{"ranks":"*","compute_slowdown":2}])"});
  const Finished run = run_stepcast(
      {"compare", folder.path("a/report.json"), folder.path("b/report.json"), "--json"});
  REQUIRE(run.exit_code == 0);
  const Json c = Json::parse(run.out);
  CHECK(c["step_time_s"]["b"].get<double>() == Approx(p50(slow)));
  CHECK(c["step_time_s"]["difference"].get<double>() > 0);
  CHECK(c["breakdown_s"]["compute"]["relative"].get<double>() > 0.3);
  const Json same = Json::parse(run_stepcast({"compare", folder.path("a/report.json"),
                                              folder.path("a/report.json"), "--json"})
                                    .out);
  CHECK(same["step_time_s"]["difference"] == 0.0);
  CHECK(run_stepcast({"compare", folder.path("small.json"), folder.path("a/report.json")})
            .exit_code == 2);
}

TEST_CASE("a folder that cannot be written is an environment error", "[cli]") {
  const Folder folder;
  const Finished run =
      run_stepcast({"simulate", folder.write("small.json", kSmallScenario), "-o", "/proc/nowhere"},
                   folder.path());
  CHECK(run.exit_code == 3);
  CHECK(lines_of(run.err).size() == 1);
}

TEST_CASE("a simulated step written as a workload replays in the same time", "[cli]") {
  const Folder folder;
  const std::string file = folder.path("step.workload.json.zst");
  const double simulated_s = p50(simulated(folder, {"--workload", file}));
  const Finished run = run_stepcast({"replay", file, "--json"});
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  const Json replayed = Json::parse(run.out);
  CHECK(replayed["origin"] == "scenario");
  CHECK(replayed["as_it_was"]["step_s"].get<double>() == Approx(simulated_s).epsilon(1e-6));
}

TEST_CASE("a workload file is named as one", "[cli]") {
  const Folder folder;
  const Finished run = run_stepcast({"simulate", folder.write("small.json", kSmallScenario),
                                     "--workload", folder.path("step.json")});
  CHECK(run.exit_code == 2);
  CHECK(run.err.find("names no workload file") != std::string::npos);
}
