#include "sim/validate/training_scenario.hpp"
#include "sim/io/json.hpp"
#include "tests/sim/validate/support.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
const std::string kHeader =
    "row_id,table,accelerator,n_accel,accel_per_node,interconnect,model,params_B,layers,hidden,"
    "heads,vocab,seq_len,tp,pp,vpp,cp,"
    "ep,dp,sharding,mbs,grad_accum,gbs,precision,recompute,framework,step_time_s,tokens_per_s,"
    "tokens_per_s_per_accel,"
    "samples_per_s,tflops_per_accel,mfu_pct,status,note\n";

StepOrReason question_of(const std::string& row) {
  const CsvTable table = test::table_of(kHeader + row);
  const AssumptionBook book = test::shipped_book();
  const AssumptionSet& set = book.set_for(table.text(0, "table"));
  return step_question(assume(book, set, TableRow(table, 0)), set);
}
Json scenario_of_row(const std::string& row) {
  const StepOrReason step = question_of(row);
  if (const auto* reason = std::get_if<std::string>(&step)) FAIL(*reason);
  return Json::parse(std::get<StepQuestion>(step).scenario);
}
}  // namespace

TEST_CASE("a row of its own shape becomes a GPT of that shape on nodes of eight", "[validate]") {
  const Json s = scenario_of_row(
      "k1,korthikanti_t5,A100-SXM4-80GB,280,8,8x200 Gb/s HDR "
      "IB,530B,530,105,20480,128,51200,2048,8,35,3,,,1,,1,,280,fp16,"
      "full,Megatron-LM,49,,,,,,ok,\n");
  REQUIRE(s["model"]["layers"] == 105);
  REQUIRE(s["model"]["ffn"] == 81920);
  REQUIRE(s["training"]["precision"] == "fp16");
  REQUIRE(s["training"]["recompute"] == "full");
  REQUIRE(s["parallel"]["schedule"] == "interleaved");
  REQUIRE(s["parallel"]["virtual_stages"] == 3);
  REQUIRE(s["cluster"]["nodes"] == 35);
  REQUIRE(s["cluster"]["nics"] == 8);
  REQUIRE(s["cluster"]["nic_Gbps"] == 200.0);
  REQUIRE(s["cluster"]["fabric"]["transport"] == "infiniband");
}

TEST_CASE("a named model takes its preset and keeps the depth of a proxy", "[validate]") {
  // 30 layers in 4 stages x 8 chunks: embedding and loss count as a layer each, so the first and
  // last chunk are empty.
  const Json s = scenario_of_row(
      "d1,dgxc_expected,H100-SXM5-80GB,64,8,8x400 Gb/s NDR IB per node,Llama 3.1 "
      "405b,405,30,16384,128,128256,8192,8,4,8,2,,1,,"
      "1,64,64,bf16,,NeMo,10.1,,,,,,ok,\n");
  REQUIRE(s["model"]["preset"] == "llama3-405b");
  REQUIRE(s["model"]["layers"] == 30);
  REQUIRE(s["parallel"]["layers_per_stage"].size() == 32);
  REQUIRE(s["parallel"]["layers_per_stage"][0] == 0);
  REQUIRE(s["parallel"]["layers_per_stage"][1] == 1);
  REQUIRE(s["parallel"]["layers_per_stage"][31] == 0);
  REQUIRE(s["parallel"]["dp"] == 1);
}

TEST_CASE("GPUs of a rack-scale domain form the largest equal share", "[validate]") {
  // 128 GPUs, domains of at most 72: two of 64.
  const Json s = scenario_of_row(
      "d2,dgxc_expected,GB200,128,4,NVL72 + 400 Gb/s per GPU,Nemotron "
      "340b,341,96,18432,96,256000,4096,8,4,12,1,,4,,1,8,32,bf16,,"
      "NeMo,2,,,,,,ok,\n");
  REQUIRE(s["cluster"]["nodes"] == 2);
  REQUIRE(s["cluster"]["gpus_per_node"] == 64);
  REQUIRE(s["cluster"]["nics"] == 64);
}

TEST_CASE("a missing micro-batch leaves the candidates that divide the batch", "[validate]") {
  // 48 replicas of 6 samples each: 4 does not divide 6, 2 and 1 do.
  const StepOrReason step = question_of(
      "m1,megatron_core_h100_weak,H100-SXM5-80GB,48,8,8x400 Gb/s,GPT "
      "1.7B,1.7,24,2048,16,131072,4096,1,1,,,,48,,,,288,bf16,"
      "none,Megatron-Core,,,,,400,41,ok,\n");
  REQUIRE(std::get<StepQuestion>(step).micro_batches == std::vector<std::int64_t>{2, 1});
}

TEST_CASE("rows that cannot be expressed say why", "[validate]") {
  const auto reason = [](const std::string& row) {
    return std::get<std::string>(question_of(row));
  };
  REQUIRE(reason("b1,bloom_prequel,A100-SXM4-80GB,384,8,4x100 Gb/s "
                 "Omni-Path,B,176,70,14336,64,250880,2048,4,6,,,,16,,1,,2048,"
                 "bf16,full,M,,,,,,,OOM,\n") == "ran out of memory: no step was measured");
  REQUIRE(reason("b2,bloom_prequel,A100-SXM4-80GB,320,8,4x100 Gb/s "
                 "Omni-Path,B,187,80,13824,64,250880,2048,8,6,,,,8,,4,,2048,"
                 "fp16,full,M,147,,,,,,ok,\n") ==
          "tp 8 x pp 6 x cp 1 does not divide 320 accelerators");
  REQUIRE(reason("x1,oci_gb300,GB300,64,4,,qwen3_30b,,,,,,,,,,,,,,,,,bf16,,N,9,,,,,,ok,\n") ==
          "no preset for this model and its shape is not given");
  REQUIRE(reason("x2,maxtext_v5p,TPU v5p,64,4,ICI,32B "
                 "dense,32,,,,,,,,,,,,,,,,bf16,,MaxText,,,,,328,71,ok,\n") ==
          "no kernel profile exists for this accelerator");
}

TEST_CASE("the measured step comes from the first column that is filled", "[validate]") {
  const auto measured = [](const std::string& cells, const std::vector<std::string>& columns) {
    const CsvTable table = test::table_of(
        "n_accel,gbs,seq_len,layers,hidden,vocab,step_time_s,tokens_per_s,tflops_per_accel,mfu_pct,"
        "peak_tflops\n" +
        cells + "\n");
    return std::get<double>(measured_step(TableRow(table, 0), columns));
  };
  REQUIRE(measured("8,4,100,1,1,1,2.5,999,,,", {"step_time_s", "tokens_per_s"}) == 2.5);
  // 4 samples x 100 tokens at 200 tokens/s: 2 s
  REQUIRE(measured("8,4,100,1,1,1,,200,,,", {"step_time_s", "tokens_per_s"}) == 2.0);
  // SC21 row, 1.7B: 96 * 512 * 2048 * 24 * 2304^2 * (1 + 2048/13824 + 51200/884736) / (32 * 137e12)
  // = 3.528 s, as printed
  REQUIRE(measured("32,512,2048,24,2304,51200,,,137,,", {"hardware_tflops"}) ==
          Approx(3.528).epsilon(5e-4));
  // half of a peak of 274 is the same rate; 72/96 of the work, the head at 1/12: 0.75 * 1.22531
  // / 1.20602 * 3.528 s
  REQUIRE(measured("32,512,2048,24,2304,51200,,,,50,274", {"mfu_pct"}) ==
          Approx(2.6893).epsilon(1e-3));
}

TEST_CASE("interconnect cells give NICs rate and transport", "[validate]") {
  REQUIRE(nics_of_text("4x100 Gb/s Omni-Path per node", 8)->nics == 4);
  REQUIRE(nics_of_text("NVL72 + 400 Gb/s per GPU", 64)->nics == 64);
  REQUIRE(nics_of_text("1600 Gb/s RoCE per node", 8)->gigabits == 200);
  REQUIRE_FALSE(nics_of_text("Slingshot 11, small test system", 4));
  REQUIRE(transport_of_text("4x100 Gb/s Omni-Path per node") == "omnipath");
  REQUIRE(transport_of_text("EFA 4x100 Gb/s per node") == "efa");
  REQUIRE(transport_of_text("IB NDR 8x400 Gb/s per node with SHARP") == "infiniband");
  REQUIRE(transport_of_text("none").empty());
}
