#include <unistd.h>

#include <filesystem>

#include "sim/io/files.hpp"
#include "sim/io/json.hpp"
#include "sim/validate/table_format.hpp"
#include "tests/sim/validate/support.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

TEST_CASE("a table is known by its columns whatever its name", "[validate]") {
  REQUIRE(format_of(test::table_of("dtype,m,n,k,time_us\nbfloat16,1,1,1,1\n", "x")) ==
          TableFormat::gemm);
  REQUIRE(format_of(test::table_of(
              "log_id,size_bytes,time_us,algbw_GBps,busbw_GBps,time_inplace_us\n", "x")) ==
          TableFormat::nccl_points);
  REQUIRE(format_of(test::table_of("collective,gpus,message_bytes,time_us\n", "x")) ==
          TableFormat::nccl_one_node);
  REQUIRE_THROWS_WITH(format_of(test::table_of("a,b\n", "x.csv")),
                      Catch::Contains("these columns fit no known table: a, b"));
}

TEST_CASE("a SimuMax case name gives layout depth and sequence in any order", "[validate]") {
  const CsvTable table = test::table_of(
      "case,model,layers,micro_batch_count,measured_step_ms,measured_peak_allocated_GiB\n"
      "llama3_70b_l12_tp2_cp4_pp1_dp1_seq32768_mbc4_cef,llama3-70b,12,4,1758.0,68.43\n"
      "deepseekv2_tp1_ep8_pp1_dp8_l4_mbc8_cef,deepseekv2,4,8,676.2,\n"
      "llama3_70b_l12_tp8_pp1_dp1_mbc4_zzz,llama3-70b,12,4,1,1\n");
  const Questions questions = read_questions(table, test::shipped_book(), {});
  REQUIRE(questions.list.size() == 2);
  const Json s = Json::parse(std::get<StepQuestion>(questions.list[0].what).scenario);
  REQUIRE(s["parallel"]["tp"] == 2);
  REQUIRE(s["parallel"]["cp"] == 4);
  REQUIRE(s["training"]["sequence_length"] == 32768);
  REQUIRE(s["training"]["global_batch"] == 4);  // one replica, four micro-batches of one sample
  REQUIRE(s["model"]["layers"] == 12);
  REQUIRE(questions.list[0].measures.size() == 2);
  REQUIRE(questions.list[0].measures[0].measured == Approx(1.758));
  REQUIRE(questions.list[0].measures[1].measured == Approx(68.43 * 1073741824.0));
  const Json moe = Json::parse(std::get<StepQuestion>(questions.list[1].what).scenario);
  REQUIRE(moe["parallel"]["ep"] == 8);
  REQUIRE(moe["training"]["global_batch"] == 64);  // eight replicas, eight micro-batches
  REQUIRE(questions.list[1].measures.size() == 1);
  REQUIRE(questions.skipped.at(0).reason == "the case name holds an unknown word (\"zzz\")");
}

TEST_CASE("a cell that is no number is a reason and no empty cell", "[validate]") {
  const CsvTable simumax = test::table_of(
      "case,model,layers,micro_batch_count,measured_step_ms,measured_peak_allocated_GiB\n"
      "llama3_70b_l12_tp2_cp4_pp1_dp1_seq32768_mbc4_cef,llama3-70b,12,4,12 s,68.43\n"
      "llama3_70b_l12_tp2_cp4_pp1_dp1_seq32768_mbc4_cef,llama3-70b,12,4,n/a,\n");
  const Questions one = read_questions(simumax, test::shipped_book(), {});
  REQUIRE(one.list.size() == 1);  // the memory is asked for all the same
  CHECK(one.list[0].measures.size() == 1);
  REQUIRE(one.skipped.size() == 2);
  CHECK(one.skipped[0].reason == "measured_step_ms \"12 s\" is no number above 0");
  CHECK(one.skipped[1].reason == "measured_step_ms \"n/a\" is no number above 0");
  const CsvTable vtrain = test::table_of(
      "gpus,global_batch,micro_batch,hidden,heads,layers,sequence_length,tp,dp,pp,iteration_time_"
      "ms\n"
      "4,16,4,2048,16,24,1024,one,2,2,410.5\n");
  const Questions two = read_questions(vtrain, test::shipped_book(), {});
  REQUIRE(two.skipped.size() == 1);
  CHECK(two.skipped[0].reason == "tp \"one\" is no whole number above 0");
}

TEST_CASE("vTrain columns become a step on part of a node", "[validate]") {
  const CsvTable table = test::table_of(
      "gpus,global_batch,micro_batch,hidden,heads,layers,sequence_length,tp,dp,pp,iteration_time_"
      "ms\n"
      "4,16,4,2048,16,24,1024,1,2,2,410.5\n");
  const Questions questions = read_questions(table, test::shipped_book(), {});
  REQUIRE(questions.skipped.empty());
  const Json s = Json::parse(std::get<StepQuestion>(questions.list.at(0).what).scenario);
  REQUIRE(s["cluster"]["gpus_per_node"] == 4);
  REQUIRE(s["cluster"]["nodes"] == 1);
  REQUIRE(s["model"]["vocab"] == 51200);
  REQUIRE(s["training"]["micro_batch"] == 4);
  REQUIRE(questions.list[0].measures[0].measured == Approx(0.4105));
}

TEST_CASE("only rows of the named table are asked", "[validate]") {
  const CsvTable table = test::table_of(
      "row_id,table,accelerator,n_accel,model,gbs,step_time_s,layers,hidden,heads,vocab,seq_len,"
      "mbs\n"
      "a,one,H100,8,llama3-8b,8,1,,,,,8192,1\nb,two,H100,8,llama3-8b,8,1,,,,,8192,1\n");
  REQUIRE(read_questions(table, test::shipped_book(), {.table = "two"}).list.at(0).measures[0].id ==
          "b");
  REQUIRE(read_questions(table, test::shipped_book(), {}).list.size() == 2);
}

TEST_CASE("a line of an example's throughput table asks one step per number format", "[validate]") {
  const CsvTable table = test::table_of(
      "model,system,section,fields,source\n"
      "PyTorch/LanguageModeling/BERT,Pre-training NVIDIA DGX-1 With 32G,s,\"{\"\"GPUs\"\": "
      "\"\"8\"\", "
      "\"\"Batch size / GPU (FP32 and FP16)\"\": \"\"2048 and 1024\"\", "
      "\"\"Accumulation steps (FP32 and FP16)\"\": \"\"512 and 128\"\", "
      "\"\"Sequence length\"\": \"\"512\"\", \"\"Throughput - FP32(sequences/sec)\"\": "
      "\"\"149.6\"\", "
      "\"\"Throughput - mixed precision(sequences/sec)\"\": \"\"586\"\"}\",r\n"
      "TensorFlow2/LanguageModeling/BERT,NVIDIA DGX A100 (8x A100 80GB),s,\"{\"\"Num Nodes\"\": "
      "\"\"2\"\", \"\"Sequence Length\"\": \"\"128\"\", "
      "\"\"Batch size / GPU: mixed precision, TF32\"\": \"\"42 , 22\"\", "
      "\"\"Gradient Accumulation: mixed precision, TF32\"\": \"\"3 , 6\"\", "
      "\"\"Global Batch Size: mixed precision, FP32\"\": \"\"2016 , 2112\"\", "
      "\"\"Throughput - mixed precision\"\": \"\"22,506.23\"\", "
      "\"\"Weak scaling - mixed precision\"\": \"\"2.0\"\"}\",r\n"
      "TensorFlow/Classification/ConvNets/resnet50v1.5,NVIDIA DGX-1 (8x V100 "
      "16G),s,\"{\"\"GPUs\"\": "
      "\"\"8\"\", \"\"Batch Size / GPU\"\": \"\"128 (FP32) / 256 (AMP)\"\", "
      "\"\"Throughput - FP32 + XLA\"\": \"\"3170 img/s\"\"}\",r\n"
      "PyTorch/LanguageModeling/Transformer-XL,NVIDIA DGX-1 (8x V100 16GB),s,\"{\"\"GPUs\"\": "
      "\"\"8\"\", \"\"Throughput - Mixed precision (tok/s)\"\": \"\"66,716\"\"}\",r\n");
  const Questions questions = read_questions(table, test::shipped_book(), {});
  REQUIRE(questions.list.size() == 4);
  const auto scenario = [&](std::size_t i) {
    return Json::parse(std::get<StepQuestion>(questions.list[i].what).scenario);
  };
  // 2048 samples per GPU and step in 512 micro-batches of 4; 8 GPUs.
  REQUIRE(scenario(0)["training"]["precision"] == "fp32");
  REQUIRE(scenario(0)["training"]["micro_batch"] == 4);
  REQUIRE(questions.list[0].measures[0].measured == Approx(2048 * 8 / 149.6));
  REQUIRE(scenario(1)["training"]["precision"] == "fp16");
  REQUIRE(scenario(1)["training"]["micro_batch"] == 8);
  REQUIRE(scenario(1)["cluster"]["preset"] == "dgx-v100");
  REQUIRE(questions.list[1].measures[0].measured == Approx(1024 * 8 / 586.0));
  // The global batch is printed, so 42 is the micro-batch although 3 divides it: 42 x 3 x 16 GPUs.
  REQUIRE(scenario(2)["training"]["micro_batch"] == 42);
  REQUIRE(scenario(2)["training"]["global_batch"] == 2016);
  REQUIRE(scenario(2)["cluster"]["nodes"] == 2);
  REQUIRE(questions.list[2].measures[0].measured == Approx(2016 / 22506.23));
  REQUIRE(scenario(3)["training"]["micro_batch"] == 128);
  REQUIRE(questions.list[3].measures[0].measured == Approx(128 * 8 / 3170.0));
  REQUIRE(questions.skipped.size() == 1);
  REQUIRE(questions.skipped[0].reason ==
          "segment memory and relative positions (Transformer-XL) are not modelled");
}

TEST_CASE("what an example's table leaves out is its launch configuration's", "[validate]") {
  // configs.yml of PyTorch's image models: EfficientNet-B4 128 images per A100 in 16 bit and 64 in
  // TF32, 32 and 16 per V100 of 16 GB. BERT's second phase: bins of 64 tokens, 288 of 512 are left.
  const CsvTable table = test::table_of(
      "model,system,section,fields,source\n"
      "PyTorch/Classification/ConvNets/efficientnet,NVIDIA DGX A100 (8x A100 "
      "80GB),s,\"{\"\"Model\"\": "
      "\"\"efficientnet-b4\"\", \"\"GPUs\"\": \"\"8\"\", \"\"TF32\"\": \"\"1000 img/s\"\", "
      "\"\"Throughput - mixed precision\"\": \"\"2000 img/s\"\"}\",r\n"
      "PyTorch/Classification/ConvNets/efficientnet,NVIDIA DGX-1 (8x V100 "
      "16GB),s,\"{\"\"Model\"\": "
      "\"\"efficientnet-b4\"\", \"\"GPUs\"\": \"\"8\"\", \"\"FP32\"\": \"\"600 img/s\"\", "
      "\"\"Throughput - mixed precision\"\": \"\"1300 img/s\"\"}\",r\n"
      "PyTorch/LanguageModeling/BERT,NVIDIA DGX A100 (8x A100 80GB),Pre-training,\"{\"\"GPUs\"\": "
      "\"\"8\"\", \"\"Batch size / GPU\"\": \"\"32\"\", \"\"Sequence length\"\": \"\"512\"\", "
      "\"\"Mixed Precision Throughput\"\": \"\"1648\"\"}\",r\n");
  const Questions questions = read_questions(table, test::shipped_book(), {});
  REQUIRE(questions.skipped.empty());
  std::vector<int> images;
  for (const Question& question : questions.list)
    images.push_back(
        Json::parse(std::get<StepQuestion>(question.what).scenario)["training"]["micro_batch"]);
  REQUIRE(images == std::vector{64, 128, 16, 32, 32});
  REQUIRE(Json::parse(std::get<StepQuestion>(questions.list[4].what)
                          .scenario)["training"]["sequence_length"] == 288);
}

TEST_CASE("points of a sweep are one question sorted by size with faulty runs left out",
          "[validate]") {
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("stepcast_nccl_" + std::to_string(getpid())))
          .string();
  write_file(folder + "/nccl_runs.csv",
             "log_id,collective,accelerator,nodes,gpus_per_node,nranks,intra_node,fabric,library,"
             "quality,note\n"
             "good,alltoall,A100-SXM4-40GB,2,4,8,NVLink3 (4 GPU all-to-all),\"Slingshot 11 "
             "dragonfly, 2x200 Gb/s per node\",NCCL,good,\n"
             "sick,all_reduce,A100-SXM4-40GB,2,4,8,,\"Slingshot 11\",NCCL,bad (TCP path),\n"
             "gather,gather,A100-SXM4-40GB,1,4,4,,none,NCCL,good,\n");
  const CsvTable table = test::table_of(
      "log_id,size_bytes,time_us,algbw_GBps,busbw_GBps\ngood,2048,30,1,1\ngood,1024,20,1,1\nsick,"
      "1024,9,1,1\ngather,8,9,1,1\n"
      "good,1024,22,1,1\ngood,0,5,1,1\nlost,8,9,1,1\n",
      folder + "/points.csv");
  const Questions questions = read_questions(table, test::shipped_book(), {});
  REQUIRE(questions.list.size() == 1);
  const Json s = Json::parse(std::get<CollectiveQuestion>(questions.list[0].what).scenario);
  REQUIRE(s["collective"]["operation"] == "all_to_all");
  REQUIRE(s["collective"]["sizes_B"] == Json::parse("[1024, 2048]"));
  REQUIRE(s["cluster"]["nics"] == 2);
  REQUIRE(s["cluster"]["fabric"]["transport"] == "slingshot");
  REQUIRE(questions.list[0].measures.size() == 3);
  REQUIRE(questions.list[0].measures[1].item == 0);
  REQUIRE(questions.list[0].measures[2].item == 1);
  REQUIRE(questions.list[0].measures[2].measured == Approx(30e-6));
  std::vector<std::string> reasons;
  for (const SkippedRow& skipped : questions.skipped) reasons.push_back(skipped.reason);
  REQUIRE(reasons ==
          std::vector<std::string>{"the source marks the run as faulty or on the wrong path",
                                   "collective \"gather\" is not modelled", "a message of no bytes",
                                   "the sweep is not in nccl_runs.csv"});
}

TEST_CASE("one-node tables take the GPU from their folder unless a profile is named",
          "[validate]") {
  const CsvTable table = test::table_of(
      "collective,gpus,message_bytes,time_us\nall_gather,2,512,9\nall_reduce,8,512,9\n",
      "/data/h200-sxm5-141g/any.csv");
  const auto preset = [&](const ReadOptions& options) {
    const Questions questions = read_questions(table, test::shipped_book(), options);
    REQUIRE(questions.list.size() == 2);
    return Json::parse(
               std::get<CollectiveQuestion>(questions.list[0].what).scenario)["cluster"]["preset"]
        .get<std::string>();
  };
  REQUIRE(preset({}) == "dgx-h200");
  REQUIRE(preset({.profile = "b200-sxm"}) == "dgx-b200");
}

TEST_CASE("GEMM rows carry two flops per multiply-add and attention half the square",
          "[validate]") {
  const Questions gemm = read_questions(
      test::table_of("dtype,m,n,k,time_us\nbfloat16,2,3,4,5\nbogus,1,1,1,1\n", "/d/l40s/g.csv"),
      test::shipped_book(), {});
  const auto& kernels = std::get<KernelQuestion>(gemm.list.at(0).what);
  REQUIRE(kernels.gpu == "l40s");
  REQUIRE(kernels.ops.at(0).flops.value == 48);  // 2 * 2 * 3 * 4
  REQUIRE(gemm.skipped.at(0).reason == "dtype \"bogus\" is not known");
  const Questions attention =
      read_questions(test::table_of("batch,sequence_length,heads,kv_heads,head_dim,causal_forward_"
                                    "time_us,kernel\n2,8,4,2,16,10,k\n",
                                    "/d/l40s/a.csv"),
                     test::shipped_book(), {});
  // 4 * b h s^2 d / 2 = 2 * 2 * 4 * 64 * 16
  REQUIRE(std::get<KernelQuestion>(attention.list.at(0).what).ops.at(0).flops.value == 16384);
}
