// Memory grows with what is held and falls with what is shared.
#include "tests/fidelity/jobs/base_job.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
/// Bytes of the fullest stage.
double peak_bytes(const Settings& settings) {
  double peak = 0;
  for (const StageMemory& stage : forecast(settings).memory) peak = std::max(peak, stage.total);
  return peak;
}
}  // namespace

TEST_CASE("memory never falls when the model or the micro-batch grows",
          "[conservation][fidelity]") {
  const auto rises = [](const Settings& base, const std::string& key, std::vector<int> values) {
    double before = 0;
    for (int value : values) {
      const double now = peak_bytes(base + Settings{key + "=" + std::to_string(value)});
      INFO(key << " " << value);
      CHECK(now > before);
      before = now;
    }
  };
  rises({"/training/global_batch=256"}, "/training/micro_batch", {1, 2, 4, 8, 16});
  rises({}, "/model/layers", {1, 2, 4, 8, 16, 32});
  rises({}, "/training/sequence_length", {512, 1024, 2048, 4096, 8192});
  rises({}, "/model/hidden", {1024, 2048, 4096, 8192});
  rises({}, "/model/vocab", {16384, 32768, 65536, 131072});
  rises({"/parallel/pp=4"}, "/model/layers", {4, 8, 16, 32});
}

TEST_CASE("memory falls when ranks share more", "[conservation][fidelity]") {
  const auto falls = [](const Settings& base, const std::vector<Settings>& steps) {
    double before = 1e300;
    for (const Settings& step : steps) {
      const double now = peak_bytes(base + step);
      INFO((step.empty() ? std::string("base") : step.front()));
      CHECK(now < before);
      before = now;
    }
  };
  const Settings large{"/model/hidden=4096", "/model/heads=32", "/model/layers=16",
                       "/training/global_batch=64"};
  falls(large,
        {{}, {"/parallel/tp=2"}, {"/parallel/tp=4"}, {"/parallel/tp=8"}, {"/parallel/tp=16"}});
  falls(large, {{}, {"/parallel/pp=2"}, {"/parallel/pp=4"}, {"/parallel/pp=8"}});
  falls(large,
        {{}, {"/parallel/zero_stage=1"}, {"/parallel/zero_stage=2"}, {"/parallel/zero_stage=3"}});
  falls(large, {{"/parallel/tp=8"}, {"/parallel/tp=8", "/parallel/sequence_parallel=true"}});
  falls(large + Settings{"/training/sequence_length=8192"},
        {{}, {"/parallel/cp=2"}, {"/parallel/cp=4"}});
  falls(large, {{"/training/attention=unfused"},
                {"/training/attention=unfused", "/training/recompute=selective"},
                {"/training/attention=unfused", "/training/recompute=full"}});
  falls(mixture(), {{}, {"/parallel/ep=2"}, {"/parallel/ep=8"}});
}

TEST_CASE("a schedule holds as many micro-batches as it must", "[conservation][fidelity]") {
  // GPipe keeps all 16 micro-batches of the first stage, 1F1B the 4 of its depth.
  const Settings pp4{"/parallel/pp=4", "/parallel/tp=2", "/training/global_batch=32"};
  const auto activations = [](const Settings& settings) {
    return forecast(settings).memory.front().activations;
  };
  const double gpipe = activations(pp4 + Settings{"/parallel/schedule=gpipe"}),
               one_f_one_b = activations(pp4);
  CHECK(gpipe / one_f_one_b > 3.0);
  CHECK(gpipe / one_f_one_b < 4.2);
}

TEST_CASE("the fullest stage decides and not the mean", "[conservation][fidelity]") {
  // 1F1B: the first stage holds 4 micro-batches, the last one 1 (beside the head's logits).
  const Forecast f = forecast(Settings{"/parallel/pp=4", "/training/global_batch=64"});
  REQUIRE(f.memory.size() == 4);
  CHECK(f.memory.front().activations > 2 * f.memory[2].activations * 0.8);
  CHECK(f.memory.front().activations > f.memory[1].activations);
  CHECK(f.memory[1].activations > f.memory[2].activations);
}
