#include "tests/sim/workload/workload_fixtures.hpp"

using namespace stepcast;
using namespace stepcast::test;

TEST_CASE("a layout's problems are reported together with what is near", "[layout]") {
  const ModelSpec model = preset("llama2-7b");  // 32 layers, 32 heads, ffn 11008 = 2^8 * 43
  const TrainingSpec t =
      training(R"({"global_batch": 100, "micro_batch": 3, "sequence_length": 4096})");
  REQUIRE(
      faults(model, t, layout(R"({"tp": 3, "pp": 64, "dp": 8})"), 64) ==
      "s.json /parallel: tp 3 x pp 64 x cp 1 x dp 8 = 1536 ranks, the cluster has 64; tp x pp x cp "
      "= 192 does not divide 64; try 16, 32, 64 for it\n"
      "s.json /training/global_batch: 100 is not a multiple of dp x micro_batch (8 x 3); try 96 or "
      "120\n"
      "s.json /parallel/pp: 64 x virtual_stages 1 is more than the 32 layers; try pp 32 or less\n"
      "s.json /parallel/tp: 3 does not divide heads (32); try 1, 2, 4\n"
      "s.json /parallel/tp: 3 does not divide ffn (11008); try 1, 2, 4");
}

TEST_CASE("a sound layout has no problem", "[layout]") {
  REQUIRE(
      faults(preset("gpt3-175b"), training(R"({"global_batch": 1536, "sequence_length": 2048})"),
             layout(R"({"tp": 8, "pp": 16, "dp": 64, "sequence_parallel": true, "zero_stage": 1})"),
             8192)
          .empty());
}

TEST_CASE("schedules and virtual stages must fit each other", "[layout]") {
  const ModelSpec model = preset("gpt3-175b");
  const TrainingSpec t = training(R"({"global_batch": 12, "sequence_length": 2048})");
  REQUIRE(faults(model, t, layout(R"({"pp": 8, "virtual_stages": 2, "schedule": "1f1b"})")) ==
          "s.json /parallel/virtual_stages: 2 needs schedule \"interleaved\", found \"1f1b\"; try "
          "virtual_stages 1 or schedule \"interleaved\"");
  REQUIRE(faults(model, t, layout(R"({"pp": 8, "virtual_stages": 2})")) ==
          "s.json /parallel/schedule: interleaved needs micro-batches per pipeline (12) in "
          "multiples of pp (8); try global_batch 16");
  REQUIRE(faults(model, t, layout(R"({"pp": 4, "layers_per_stage": [24, 24, 24, 23]})")) ==
          "s.json /parallel/layers_per_stage: adds up to 95, the model has 96 layers");
}

TEST_CASE("the first and the last chunk may hold the embedding and the head alone", "[layout]") {
  // Llama 3 405B: 126 layers on 16 stages x 8 chunks = 128 chunks (arXiv:2407.21783, section 3.3.2)
  const ModelSpec model = preset("llama3-405b");
  const TrainingSpec t = training(R"({"global_batch": 16, "sequence_length": 8192})");
  const ParallelLayout l = layout(R"({"pp": 16, "virtual_stages": 8})");
  REQUIRE(faults(model, t, l) == "");
  for (int chunk = 0; chunk < 8; ++chunk)
    for (int stage = 0; stage < 16; ++stage) {
      const LayerRange range = blocks_of(stage, chunk, 126, l);
      const int place = chunk * 16 + stage;
      REQUIRE(range.last - range.first == (place == 0 || place == 127 ? 0 : 1));
    }
  // 130 chunks leave four without a layer.
  REQUIRE(
      faults(model, training(R"({"global_batch": 26, "sequence_length": 8192})"),
             layout(R"({"pp": 26, "virtual_stages": 5})")) ==
      "s.json /parallel/pp: 26 x virtual_stages 5 is more than the 126 layers; try pp 25 or less");
}

TEST_CASE("a batch of too many micro-batches is refused and never takes the machine down",
          "[layout]") {
  // 2^30 samples one by one on one replica; 2^22 passes over 2 stages are 2^21 micro-batches
  REQUIRE(faults(preset("gpt3-125m"),
                 training(R"({"global_batch": 1073741824, "sequence_length": 2048})"),
                 layout(R"({"pp": 2})")) ==
          "s.json /training/global_batch: 1073741824 is 1073741824 micro-batches on each replica; "
          "a step of more than 4194304 passes is "
          "not simulated; try 2097152, or a larger micro_batch or dp");
}

TEST_CASE("expert parallelism must divide experts and ranks", "[layout]") {
  const TrainingSpec t = training(R"({"global_batch": 12, "sequence_length": 4096})");
  REQUIRE(faults(preset("mixtral-8x7b"), t, layout(R"({"dp": 12, "ep": 3})")) ==
          "s.json /parallel/ep: 3 does not divide experts (8); try 1, 2, 4");
  REQUIRE(faults(preset("llama3-8b"), t, layout(R"({"dp": 4, "ep": 2})")) ==
          "s.json /parallel/ep: 2: the model has no experts; try 1");
  REQUIRE(
      faults(preset("mixtral-8x7b"), t, layout(R"({"dp": 2, "tp": 2, "expert_tp": 2})")) ==
      "s.json /parallel/sequence_parallel: is false; experts with tp 2 need it; set it to true");
}

TEST_CASE("learned positions and context pieces bound the sequence", "[layout]") {
  REQUIRE(faults(preset("gpt2-small"), training(R"({"global_batch": 1, "sequence_length": 2048})"),
                 layout("{}")) ==
          "s.json /training/sequence_length: 2048 is more than the model's 1024 learned positions; "
          "try 1024 or less, or raise /model/max_positions");
  REQUIRE(faults(preset("llama3-8b"), training(R"({"global_batch": 1, "sequence_length": 100})"),
                 layout(R"({"cp": 4})")) ==
          "s.json /parallel/cp: 8 does not divide sequence_length, counting two pieces per rank, "
          "(100); try 4, 5, 10");
}
