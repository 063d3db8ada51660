// Every legal cut of a world runs to its end; every other one says why not.
#include <fmt/format.h>

#include <numeric>

#include "tests/fidelity/jobs/base_job.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
std::vector<int> divisors(int n) {
  std::vector<int> all;
  for (int d = 1; d <= n; ++d)
    if (n % d == 0) all.push_back(d);
  return all;
}
/// Twelve blocks, so that tp, pp and cp of 3, 6, 12 are legal too.
Settings small_model(bool is_mixture) {
  const Settings shape{"/model/layers=12", "/model/hidden=768", "/model/heads=24",
                       "/model/vocab=9216", "/training/sequence_length=1152"};
  if (!is_mixture) return shape + Settings{"/model/ffn=3072"};
  return shape + Settings{"/model/kind=moe", "/model/ffn=1536",
                          R"(/model/moe={"experts": 24, "top_k": 2, "expert_ffn": 1536})"};
}
struct Count {
  int ran = 0, refused = 0;
};

void try_all(int world, bool is_mixture, Count& count) {
  const int per_node = world == 24 ? 8 : world == 16 ? 8 : 4;
  for (const int tp : divisors(world))
    for (const int pp : divisors(world / tp))
      for (const int cp : divisors(world / tp / pp)) {
        const int dp = world / tp / pp / cp;
        for (const int ep : is_mixture ? divisors(tp * cp * dp) : std::vector<int>{1}) {
          const Settings settings = small_model(is_mixture) +
                                    Settings{fmt::format("/cluster/nodes={}", world / per_node),
                                             fmt::format("/cluster/gpus_per_node={}", per_node),
                                             fmt::format("/parallel/tp={}", tp),
                                             fmt::format("/parallel/pp={}", pp),
                                             fmt::format("/parallel/cp={}", cp),
                                             fmt::format("/parallel/dp={}", dp),
                                             fmt::format("/parallel/ep={}", ep),
                                             fmt::format("/parallel/sequence_parallel={}", tp > 1),
                                             fmt::format("/training/global_batch={}", 2 * dp)};
          INFO("world " << world << " tp " << tp << " pp " << pp << " cp " << cp << " dp " << dp
                        << " ep " << ep);
          const Result<Scenario> scenario = try_job(settings);
          if (!scenario) {
            ++count.refused;
            for (const Problem& problem : scenario.problems().list())
              CHECK_FALSE(problem.message.empty());
            continue;
          }
          ++count.ran;
          const StepOutcome outcome = forecast(*scenario).outcome;
          CHECK(outcome.step_s > 0);
          CHECK(outcome.step_s < 10);
          CHECK(std::accumulate(outcome.breakdown.begin(), outcome.breakdown.end(), 0.0) ==
                Approx(outcome.step_s).epsilon(1e-9));
        }
      }
}
}  // namespace

TEST_CASE("every factoring of 8 and 16 and 24 GPUs runs or says why not", "[engines][fidelity]") {
  const int world = GENERATE(8, 16, 24);
  const bool is_mixture = GENERATE(false, true);
  Count count;
  try_all(world, is_mixture, count);
  INFO(count.ran << " ran, " << count.refused << " were refused");
  CHECK(count.ran >= (world == 8 ? 15 : 20));
}

TEST_CASE("schedules run at every legal depth", "[engines][fidelity]") {
  for (const char* schedule : {"gpipe", "1f1b", "zero-bubble", "interleaved"})
    for (const int pp : {2, 3, 4, 6, 12})
      for (const int micro_batches : {1, 2, 5, 12}) {
        const bool is_interleaved = std::string(schedule) == "interleaved";
        Settings settings =
            small_model(false) +
            Settings{"/cluster/nodes=3", fmt::format("/parallel/pp={}", pp),
                     std::string("/parallel/schedule=") + schedule,
                     fmt::format("/training/global_batch={}", 24 / pp * micro_batches)};
        if (is_interleaved) settings.push_back("/parallel/virtual_stages=2");
        INFO(schedule << " pp " << pp << ", " << micro_batches << " micro-batches");
        const Result<Scenario> scenario = try_job(settings);
        // Interleaving needs micro-batches in multiples of pp and two blocks per stage.
        const bool is_legal = !is_interleaved || (micro_batches % pp == 0 && pp <= 6);
        REQUIRE(static_cast<bool>(scenario) == is_legal);
        if (scenario) CHECK(forecast(*scenario).outcome.step_s > 0);
      }
}

TEST_CASE("impossible cuts are refused with the reason and what is near", "[engines][fidelity]") {
  const auto text = [](const Settings& settings) {
    const Result<Scenario> scenario = try_job(settings);
    return scenario ? std::string() : scenario.problems().text();
  };
  CHECK_THAT(text({"/parallel/tp=3"}),
             Catch::Contains("/parallel/tp: 3 does not divide heads (16)"));
  CHECK_THAT(text({"/parallel/pp=16"}),
             Catch::Contains("/parallel/pp: 16 x virtual_stages 1 is more than the 8 layers"));
  CHECK_THAT(text({"/parallel/tp=4", "/parallel/dp=8"}),
             Catch::Contains("32 ranks, the cluster has 16"));
  CHECK_THAT(text({"/parallel/ep=2"}),
             Catch::Contains("/parallel/ep: 2: the model has no experts"));
  CHECK_THAT(text(mixture() + Settings{"/parallel/ep=3"}),
             Catch::Contains("/parallel/ep: 3 does not divide experts (8)"));
  CHECK_THAT(text({"/training/global_batch=24"}),
             Catch::Contains("24 is not a multiple of dp x micro_batch (16 x 1)"));
  CHECK_THAT(text({"/parallel/cp=16", "/training/sequence_length=2000"}),
             Catch::Contains("/parallel/cp"));
}
