#include "sim/io/json.hpp"
#include "sim/report/report.hpp"
#include "tests/golden/golden.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
namespace {
/// Round figures by hand, so that every line of the text can be checked by eye.
Json hand_made_report() {
  return Json::parse(R"({
    "scenario": {"model": "gpt", "parameters": 175000000000, "cluster": "dgx", "nodes": 16, "gpus": 128, "tp": 8, "pp": 4, "dp": 4, "cp": 1, "ep": 1,
                 "zero_stage": 1, "schedule": "interleaved", "virtual_stages": 2, "global_batch": 1536, "micro_batch": 1, "micro_batches": 384,
                 "sequence_length": 2048, "precision": "bf16", "strategy": "megatron"},
    "step_time_s": {"p05": 18.0, "p50": 20.0, "p95": 22.0, "mean": 20.0},
    "breakdown_s": {"compute": 15.0, "exposed_tp": 2.0, "exposed_pp": 0.0, "bubble": 2.5, "optimizer": 0.5},
    "breakdown_of_step_s": 20.0, "tokens_per_s": 157286.4, "samples_per_s": 76.8, "model_flops_utilization": 0.4,
    "hardware_flops_utilization": 0.45, "model_TFLOP_per_s_per_gpu": 395.8, "host_bound_share": 0.02,
    "memory_GiB": {"per_stage": [{"stage": 0, "parameters": 10.5, "gradients": 21, "optimizer": 8, "activations": 20.25, "buffers": 1, "total": 60.75},
                                 {"stage": 1, "parameters": 10, "gradients": 20, "optimizer": 8, "activations": 15, "buffers": 1, "total": 54}],
                   "worst": 60.75, "capacity": 80, "fits": true},
    "network": {"busiest_links": [{"name": "node 0 tx", "bytes": 4e11, "capacity_GBps": 400, "utilisation": 0.05}], "bytes_by_group": {"dp": 3.2e11, "pp": 8e10}},
    "money": {"usd_per_hour": 609.28, "usd_per_step": 3.384889, "usd_per_billion_tokens": 1076.03},
    "extrapolated": [{"what": "gemm m 4096", "nearest_measured": "m 2048", "share_of_step": 0.1}], "warnings": ["one"], "notes": ["dp = 4"],
    "provenance": {"profile": "h100", "engine": "simgrid"},
    "simulation": {"wall_s": 0.25, "peak_rss_MiB": 50, "events": 123456, "simulated_workers": 4, "folded": true}})");
}
}  // namespace

TEST_CASE("the report as a person reads it", "[golden]") {
  test::check_golden("report_text", report_text(hand_made_report()));
}

TEST_CASE("a comparison as a person reads it", "[golden]") {
  Json slower = hand_made_report();
  slower["step_time_s"]["p50"] = 25.0;  // 20 -> 25 s: +25 %, all of it bubble: 2.5 -> 7.5 s, +200 %
  slower["breakdown_s"]["bubble"] = 7.5;
  test::check_golden("comparison_text",
                     comparison_text(comparison_json(hand_made_report(), slower, "a/report.json",
                                                     "b/report.json")));
}
