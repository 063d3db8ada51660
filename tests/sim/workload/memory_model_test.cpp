#include "tests/sim/workload/workload_fixtures.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
StageMemory worst(const ModelSpec& model, const char* t, const char* l) {
  const TrainingSpec spec = training(t);
  const ParallelLayout parallel = layout(l);
  StageMemory found;
  for (const StageMemory& stage : memory_of(model, model_work(model, spec, parallel), spec, parallel, {}))
    if (stage.total > found.total) found = stage;
  return found;
}
}  // namespace

TEST_CASE("1F1B holds pp minus stage micro-batches and GPipe all of them", "[memory]") {
  const ParallelLayout plain = layout(R"({"pp": 4})"), gpipe = layout(R"({"pp": 4, "schedule": "gpipe"})");
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
  REQUIRE(worst(model, t, R"({"dp": 8, "zero_stage": 3, "shard_size": 4})").parameters == Approx(2 * p / 4));
}

TEST_CASE("memory grows with micro-batch and layers and sequence", "[memory]") {
  double before = 0;
  for (const char* t : {R"({"global_batch": 64, "sequence_length": 2048})", R"({"global_batch": 64, "micro_batch": 2, "sequence_length": 2048})",
                        R"({"global_batch": 64, "micro_batch": 2, "sequence_length": 4096})"}) {
    const double now = worst(preset("llama2-7b"), t, "{}").total;
    REQUIRE(now > before);
    before = now;
  }
  const char* t = R"({"global_batch": 64, "sequence_length": 2048})";
  REQUIRE(worst(preset("llama2-7b", R"({"layers": 33})"), t, "{}").total > worst(preset("llama2-7b"), t, "{}").total);
}
