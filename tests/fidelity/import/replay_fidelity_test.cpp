#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "sim/core/robust_stats.hpp"
#include "sim/import/kineto/kineto.hpp"
#include "sim/import/replay/replay.hpp"
#include "sim/import/replay/trace_workload.hpp"
#include "sim/import/replay/what_if.hpp"
#include "sim/import/straggler/straggler_table.hpp"
#include "tests/fidelity/import/shared_data.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
struct Errors {
  double median_abs = 0, worst = 0, bias = 0;
};
Errors errors_of(const Workload& w, const ReplayResult& r) {
  std::vector<double> errors, absolute;
  for (std::size_t s = 0; s < w.steps.size(); ++s)
    if (w.steps[s].measured_s > 0 && r.step_s[s] > 0)
      errors.push_back(r.step_s[s] / w.steps[s].measured_s - 1);
  for (const double e : errors) absolute.push_back(std::abs(e));
  REQUIRE_FALSE(errors.empty());
  return {median(absolute), *std::max_element(absolute.begin(), absolute.end()), mean(errors)};
}
}  // namespace

TEST_CASE("the whole traced job replays within 1 per cent of its measured steps",
          "[fidelity][replay]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  Anomalies anomalies;
  const Workload w =
      straggler::read_table(data + "/traces/StragglerAnalysis/trace-ST.csv.gz", anomalies);
  REQUIRE(w.ranks.size() == 8);
  REQUIRE(w.steps.size() == 32);
  REQUIRE(workload_fault(w).empty());
  const ReplayResult as_was = replay(w);
  const Errors e = errors_of(w, as_was);
  std::cout << fmt::format("ST as it was: median {:.3f} %, worst {:.3f} %, bias {:.3f} %\n",
                           100 * e.median_abs, 100 * e.worst, 100 * e.bias);
  const double no_delay = mean(replay(w, {.keep_delays = false}).step_s);
  std::cout << fmt::format("ST without launch gaps: {:.4f} s (published 2.1727)\n", no_delay);
  REQUIRE(e.median_abs <= 0.01);
  REQUIRE(e.worst <= 0.02);
  REQUIRE(no_delay == Approx(2.1727).epsilon(0.01));
}

TEST_CASE("every handed Kineto trace with a full step replays as it was", "[fidelity][replay]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  const std::vector<std::vector<std::string>> jobs{
      {"HolisticTraceAnalysis/nccl_data.json.gz"},
      {"HolisticTraceAnalysis/dlrm128/sampled_rank-0.json.gz",
       "HolisticTraceAnalysis/dlrm128/sampled_rank-1.json.gz"},
      {"kineto/resnet50_num_workers_4/worker0.1623212756351.pt.trace.json.gz"},
      {"TraceLens/h100/qwen1.5-0.5b.json.gz"},
      {"TraceLens/h100/bert-small.json.gz"},
      {"TraceLens/mi300/bert-small.json.gz"},
      {"param/linear_kineto.json.gz"},
      {"HolisticTraceAnalysis/edge/rank_not_found.json.gz"},
      {"HolisticTraceAnalysis/edge/event_sync_multi_stream.json.gz"}};
  std::vector<double> errors;
  for (const auto& files : jobs) {
    std::vector<RankTrace> traces;
    for (const auto& file : files) traces.push_back(kineto::read_trace(data + "/traces/" + file));
    Anomalies anomalies;
    align_clocks(traces, anomalies);
    const Workload w = workload_of(traces, anomalies);
    REQUIRE(workload_fault(w).empty());
    const ReplayResult r = replay(w);
    const ReplayResult bare = replay(w, {.keep_delays = false});
    const Errors e = errors_of(w, r);
    std::cout << fmt::format(
                     "{:<75} {:>2} steps {:>6} ops: median {:.3f} %, worst {:.3f} %; unexplained "
                     "delays {:.1f} %\n",
                     files.front(), w.steps.size(), w.op_count(), 100 * e.median_abs, 100 * e.worst,
                     100 * (1 - mean(bare.step_s) / mean(r.step_s)))
              << anomalies.text();
    errors.push_back(e.median_abs);
    CAPTURE(files.front());
    REQUIRE(e.worst <= 0.05);
  }
  REQUIRE(median(errors) <= 0.02);
}

TEST_CASE("the straggler counterfactual meets the published what-if of the traced job",
          "[fidelity][replay]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  Anomalies anomalies;
  const Workload w =
      straggler::read_table(data + "/traces/StragglerAnalysis/trace-ST.csv.gz", anomalies);
  const StragglerReport report = straggler_report(w);
  std::cout << fmt::format(
      "as was {:.4f} (published 2.1727), ideal {:.4f} (1.8433), slowdown {:.4f} (1.1787)\n",
      report.as_was_s, report.ideal_s, report.slowdown);
  for (const auto* list : {&report.stages, &report.ops, &report.ranks})
    for (const Attribution& a : *list)
      std::cout << fmt::format("  {:<30} {:.4f}\n", a.what, a.slowdown);
  REQUIRE(report.ideal_s == Approx(1.8433).epsilon(0.01));
  REQUIRE(report.slowdown == Approx(1.1787).epsilon(0.01));
  REQUIRE(report.stages.front().what == "stage 3");
  REQUIRE(report.stages.front().slowdown == Approx(1.2323).epsilon(0.01));
  for (std::size_t i = 1; i < report.stages.size(); ++i) REQUIRE(report.stages[i].slowdown < 1.005);
  for (const Attribution& a : report.ops) {
    if (a.what == "forward-compute") REQUIRE(a.slowdown == Approx(1.0875).epsilon(0.01));
    if (a.what == "backward-compute") REQUIRE(a.slowdown == Approx(1.0742).epsilon(0.01));
  }
}
