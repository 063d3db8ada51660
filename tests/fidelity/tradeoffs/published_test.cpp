// Published numbers: the slow GPU of BLOOM, traced jobs, ResNet-50 over RDMA and TCP, Horovod and
// BytePS.
#include <fmt/format.h>

#include <cmath>
#include <iostream>

#include "sim/core/robust_stats.hpp"
#include "sim/engine/simulate.hpp"
#include "sim/import/straggler/straggler_table.hpp"
#include "sim/io/csv.hpp"
#include "sim/io/json.hpp"
#include "sim/straggler/fit_series.hpp"
#include "sim/straggler/trace/attribution.hpp"
#include "tests/fidelity/import/shared_data.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
namespace {
Forecast forecast_of(const char* text, const std::vector<std::string>& settings = {}) {
  Json document = parse_json(text, "published").value_or_throw();
  for (const std::string& s : settings) apply_setting(document, s).value_or_throw();
  const Scenario scenario = scenario_of(std::move(document), "published").value_or_throw();
  return simulate(scenario, profile_of(scenario).value_or_throw(),
                  {.engine = EngineKind::native, .execute = {}});
}
constexpr const char* kBloom =
    R"({ "stepcast": 1, "model": { "preset": "bloom-176b" }, "cluster": { "preset": "dgx-a100-opa", "nodes": 48 },
  "training": { "global_batch": 2048, "micro_batch": 2, "sequence_length": 2048, "recompute": "full", "attention": "unfused" },
  "parallel": { "tp": 4, "pp": 12, "dp": 8 }, "strategy": { "preset": "megatron-deepspeed" } })";
}  // namespace

TEST_CASE("one slow GPU among 384 takes the whole step with it", "[tradeoffs]") {
  // BLOOM, 28 April 2022 (bigscience tr11 chronicles): 105.17 s became 111.14 s, 5.7 %, until one
  // GPU was replaced. A benchmark on its node showed 2.5 % (303.6 s against 296.5 s). In a pipeline
  // no rank can cost more than its own slowness: 2.5 % gives at most 107.8 s: what the benchmark
  // saw is not what training saw. Checked are that bound, that half of it is reached (waiting for
  // messages and tensor-parallel collectives hides the rest), and that a GPU 6 to 10 % slow under
  // load explains 111.1 s.
  const double free = forecast_of(kBloom).outcome.step_s;
  const auto with = [&](double slowdown) {
    return forecast_of(kBloom,
                       {fmt::format(R"(/stragglers=[{{"ranks": "150", "compute_slowdown": {}}}])",
                                    slowdown)})
               .outcome.step_s /
           free;
  };
  const double at_benchmark = with(303.6 / 296.5);
  std::cout << fmt::format(
      "BLOOM: step {:.1f} s (measured 105.2); 2.4 % slow GPU -> {:.2f} s against 111.1 measured "
      "({:+.1f} %)\n",
      free, 105.17 * at_benchmark, 100 * (105.17 * at_benchmark / 111.14 - 1));
  CHECK(at_benchmark > 1 + 0.5 * 0.0239);
  CHECK(at_benchmark < 1 + 1.01 * 0.0239);
  CHECK(105.17 * at_benchmark == Approx(111.14).epsilon(0.045));
  CHECK(105.17 * with(1.057) < 111.14);
  CHECK(105.17 * with(1.10) > 111.14);
}

TEST_CASE("traced jobs lose what the published what-if says, by stage and replica and op",
          "[tradeoffs]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  const CsvTable table =
      CsvTable::read(data + "/measured/straggler_attribution.csv").value_or_throw();
  int scored = 0;
  for (const char* trace : {"ST", "AR", "SE"}) {
    const std::string path = data + "/traces/StragglerAnalysis/trace-" + trace + ".csv.gz";
    if (!std::filesystem::exists(path)) continue;
    Anomalies anomalies;
    const TraceAttribution a = attribute_trace(straggler::read_table(path, anomalies));
    const auto part = [](const std::vector<AttributedPart>& parts, const std::string& name) {
      for (const AttributedPart& p : parts)
        if (p.name == name) return p.slowdown;
      return 0.0;
    };
    double worst = 0;
    for (std::size_t i = 0; i < table.rows(); ++i) {
      if (table.text(i, "trace") != trace) continue;
      const std::string kind = table.text(i, "kind"), key = table.text(i, "key");
      double mine = 0;
      if (kind == "total" && key == "blocking_slowdown")
        mine = a.slowdown();
      else if (kind == "total" && key == "launch_slowdown")
        mine = a.measured_s / a.traced_s;
      else if (kind == "pp_stage")
        mine = part(a.stages, "stage " + key);
      else if (kind == "dp_rank")
        mine = part(a.replicas, "replica " + key);
      else if (kind == "op_type")
        mine = part(a.ops, key);
      else
        continue;
      if (mine == 0) continue;  // an op that the table has no row of (gc)
      const double published = *table.number(i, "slowdown_factor");
      INFO(trace << " " << kind << " " << key);
      CHECK(mine == Approx(published).epsilon(0.05));
      worst = std::max(worst, std::abs(mine / published - 1));
      ++scored;
    }
    std::cout << fmt::format(
        "{}: {:.4f} s traced, {:.4f} s ideal, slowdown {:.4f}; worst factor off by {:.2f} %\n",
        trace, a.traced_s, a.ideal_s, a.slowdown(), 100 * worst);
  }
  CHECK(scored >= 10);
}

TEST_CASE("measured step series are fitted and simulated again with their spread", "[tradeoffs]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  const CsvTable table = CsvTable::read(data + "/measured/step_series.csv").value_or_throw();
  std::map<std::string, std::vector<double>> series;
  for (std::size_t i = 0; i < table.rows(); ++i)
    series[table.text(i, "job")].push_back(*table.number(i, "step_time_s"));
  REQUIRE_FALSE(series.empty());
  for (const auto& [job, steps] : series) {
    const SeriesFit fit = fit_step_series(steps, 64, job);
    std::cout << fmt::format(
        "{}: {} steps, median {:.4f} s, variation {:.2f} %, sigma of each of 64 ranks {:.4f}, {} "
        "spikes, free of stragglers {:.4f} s\n",
        job, fit.steps, fit.median_s, 100 * fit.variation, fit.rank_sigma, fit.spikes, fit.base_s);
    CHECK(fit.base_s <= fit.median_s);
    CHECK(fit.base_s > 0.9 * fit.median_s);
  }
}

TEST_CASE("ResNet-50 data parallel over TCP is as much slower than over RDMA as measured",
          "[tradeoffs]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  // Two nodes of four A100 with Slingshot 11; the TCP path of the same nodes is known from an
  // all-reduce sweep.
  constexpr const char* kResnet =
      R"({ "stepcast": 1, "model": { "preset": "resnet-50" }, "cluster": { "preset": "polaris", "nodes": 2 },
    "training": { "global_batch": 128, "micro_batch": 16, "precision": "tf32", "optimizer": "sgd", "gradient_clip": false }, "strategy": { "preset": "pytorch-ddp" } })";
  const CsvTable points = CsvTable::read(data + "/measured/nccl_points.csv").value_or_throw(),
                 runs = CsvTable::read(data + "/measured/training_runs.csv").value_or_throw();
  std::vector<double> tcp_busbw, rdma_s, tcp_s;
  for (std::size_t i = 0; i < points.rows(); ++i)
    // The library's sockets as training uses them (env2), at the size of a bucket.
    if (points.text(i, "log_id") == "sirius_2.18_2n4_all_reduce_env2" &&
        *points.number(i, "size_bytes") == 33554432)
      tcp_busbw.push_back(*points.number(i, "busbw_GBps"));
  for (std::size_t i = 0; i < runs.rows(); ++i)
    if (runs.text(i, "table") == "polaris_resnet50_ddp")
      (runs.text(i, "interconnect").find("TCP") != std::string::npos ? tcp_s : rdma_s)
          .push_back(*runs.number(i, "step_time_s"));
  REQUIRE_FALSE(tcp_busbw.empty());
  REQUIRE_FALSE(tcp_s.empty());
  // The port rate at which a simulated sweep reaches the measured bus bandwidth at that size.
  const auto busbw_at = [](double nic_GBps) {
    Json sweep =
        parse_json(
            fmt::format(
                R"({{ "stepcast": 1, "collective": {{ "operation": "all_reduce", "sizes_B": [33554432] }}, "cluster": {{ "preset": "polaris", "nodes": 2, "nics": 1,
      "nic_GBps": {}, "fabric": {{ "transport": "tcp" }} }} }})",
                nic_GBps),
            "sweep")
            .value_or_throw();
    const Scenario s = scenario_of(std::move(sweep), "sweep").value_or_throw();
    return simulate_collectives(s, profile_of(s).value_or_throw(), EngineKind::native)
               .front()
               .busbw /
           1e9;
  };
  double nic = tcp_busbw.front();
  for (int i = 0; i < 6; ++i) nic *= tcp_busbw.front() / busbw_at(nic);
  const double rdma = forecast_of(kResnet).outcome.step_s;
  const double tcp =
      forecast_of(kResnet, {"/cluster/nics=1", fmt::format("/cluster/nic_GBps={}", nic),
                            "/cluster/fabric/transport=tcp"})
          .outcome.step_s;
  std::cout << fmt::format(
      "ResNet-50 on 8 A100: RDMA {:.2f} ms (measured {:.2f}), TCP {:.2f} ms (measured {:.2f}); "
      "ratio {:.3f} (measured {:.3f})\n",
      1e3 * rdma, 1e3 * mean(rdma_s), 1e3 * tcp, 1e3 * mean(tcp_s), tcp / rdma,
      mean(tcp_s) / mean(rdma_s));
  // Levels rest on the host's issue time of an eager model, which this trade-off is not about.
  CHECK(tcp / rdma == Approx(mean(tcp_s) / mean(rdma_s)).epsilon(0.10));
}
