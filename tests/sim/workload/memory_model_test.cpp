#include "tests/sim/workload/workload_fixtures.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
StageMemory worst(const ModelSpec& model, const char* t, const char* l,
                  const MemoryOverhead& overhead = {}) {
  const TrainingSpec spec = training(t);
  const ParallelLayout parallel = layout(l);
  StageMemory found;
  for (const StageMemory& stage :
       memory_of(model, model_work(model, spec, parallel), spec, parallel, overhead))
    if (stage.total > found.total) found = stage;
  return found;
}
}  // namespace

TEST_CASE("1F1B holds pp minus stage micro-batches and GPipe all of them", "[memory]") {
  const ParallelLayout plain = layout(R"({"pp": 4})"),
                       gpipe = layout(R"({"pp": 4, "schedule": "gpipe"})");
  for (int stage = 0; stage < 4; ++stage) {
    REQUIRE(micro_batches_in_flight(stage, plain, 16) == 4 - stage);
    REQUIRE(micro_batches_in_flight(stage, plain, 2) == std::min(2, 4 - stage));
    REQUIRE(micro_batches_in_flight(stage, gpipe, 16) == 16);
  }
  // Interleaved: 2 (pp - stage - 1) + (v - 1) pp + 1 = 6 + 4 + 1 on stage 0 with v = 2.
  REQUIRE(micro_batches_in_flight(0, layout(R"({"pp": 4, "virtual_stages": 2})"), 16) == 11);
}

TEST_CASE("states take 18 bytes per parameter and ZeRO divides its share", "[memory]") {
  const ModelSpec model = preset("llama2-7b");
  const double p = 6738415616.0;  // vocabulary 32000 is a multiple of 128: no padding
  const char* t = R"({"global_batch": 64, "sequence_length": 4096})";
  const StageMemory plain = worst(model, t, R"({"dp": 8})");
  REQUIRE(plain.parameters == Approx(2 * p));
  REQUIRE(plain.gradients == Approx(4 * p));
  REQUIRE(plain.optimizer == Approx(12 * p));
  REQUIRE(worst(model, t, R"({"dp": 8, "zero_stage": 1})").optimizer == Approx(12 * p / 8));
  REQUIRE(worst(model, t, R"({"dp": 8, "zero_stage": 2})").gradients == Approx(4 * p / 8));
  REQUIRE(worst(model, t, R"({"dp": 8, "zero_stage": 3})").parameters == Approx(2 * p / 8));
  REQUIRE(worst(model, t, R"({"dp": 8, "zero_stage": 3, "shard_size": 4})").parameters ==
          Approx(2 * p / 4));
}

TEST_CASE("FSDP holds 16 bytes per parameter where its shards are the fp32 parameters",
          "[memory]") {
  // fp32 shard 4 (the master copy), gradient 4, two moments 8; a 16-bit shard beside them would be
  // 2 more.
  const ModelSpec model = preset("llama2-7b");
  const double p = 6738415616.0;
  const char* t = R"({"global_batch": 64, "sequence_length": 4096})";
  const StageMemory shards =
      worst(model, t, R"({"dp": 8, "zero_stage": 3})", {.fp32_shards = true});
  REQUIRE(shards.parameters + shards.gradients + shards.optimizer == Approx(16 * p / 8));
  REQUIRE(shards.parameters == Approx(4 * p / 8));
  REQUIRE(shards.optimizer == Approx(8 * p / 8));
  // Replicated or ZeRO-1 parameters are 16 bit whatever the key says.
  const StageMemory whole = worst(model, t, R"({"dp": 8, "zero_stage": 1})", {.fp32_shards = true});
  REQUIRE(whole.parameters == Approx(2 * p));
}

TEST_CASE("ZeRO-2 saves no gradients in a pipeline since those are accumulated whole", "[memory]") {
  const ModelSpec model = preset("llama2-7b");
  const char* t = R"({"global_batch": 64, "sequence_length": 4096})";
  const StageMemory first = worst(model, t, R"({"dp": 8, "pp": 2, "zero_stage": 1})"),
                    second = worst(model, t, R"({"dp": 8, "pp": 2, "zero_stage": 2})");
  REQUIRE(second.gradients == Approx(first.gradients));
  REQUIRE(worst(model, t, R"({"dp": 8, "pp": 2, "zero_stage": 3})").gradients ==
          Approx(first.gradients / 8));
}

TEST_CASE("FSDP holds the layers gathered ahead and without resharding all of them", "[memory]") {
  const ModelSpec model = preset("llama2-7b");
  const auto buffers = [&](int ahead, bool keeps) {
    return worst(model, R"({"global_batch": 64, "sequence_length": 4096})",
                 R"({"dp": 64, "zero_stage": 3})",
                 {.gathered_ahead = ahead, .keeps_gathered = keeps})
        .buffers;
  };
  // A block of Llama 2 7B: 4 x 4096^2 of attention, 3 x 4096 x 11008 of the MLP and two norms.
  const double block = 2.0 * (4.0 * 4096 * 4096 + 3.0 * 4096 * 11008 + 2 * 4096);
  CHECK(buffers(2, false) - buffers(1, false) == Approx(block));
  CHECK(buffers(0, false) < buffers(1, false));
  // Kept: all parameters in 16 bits instead of two blocks, and never more than that.
  const double all = 2.0 * 6738415616.0;
  CHECK(buffers(1, true) - buffers(1, false) == Approx(all - 2 * block));
  CHECK(buffers(1000, false) == Approx(buffers(1, true)));
}

TEST_CASE("memory grows with micro-batch and layers and sequence", "[memory]") {
  double before = 0;
  for (const char* t : {R"({"global_batch": 64, "sequence_length": 2048})",
                        R"({"global_batch": 64, "micro_batch": 2, "sequence_length": 2048})",
                        R"({"global_batch": 64, "micro_batch": 2, "sequence_length": 4096})"}) {
    const double now = worst(preset("llama2-7b"), t, "{}").total;
    REQUIRE(now > before);
    before = now;
  }
  const char* t = R"({"global_batch": 64, "sequence_length": 2048})";
  REQUIRE(worst(preset("llama2-7b", R"({"layers": 33})"), t, "{}").total >
          worst(preset("llama2-7b"), t, "{}").total);
}
