#include "runtime/converge/study.hpp"
#include "tests/support/test.hpp"

namespace stepcast::runtime {
namespace {
const LearningTask& teacher() {
  static const LearningTask task = teacher_task(BatchNorm::none);
  return task;
}
TrainingSetup lockstep(int workers) {
  TrainingSetup setup{
      .task = &teacher(), .spec = {}, .order = {.kind = UpdateKind::lockstep, .workers = workers}};
  setup.spec.steps = 200;
  setup.spec.seeds = 3;
  return setup;
}
/// Workers take turns and each gradient is `staleness` updates old.
TrainingSetup stale(int workers, std::int64_t staleness) {
  TrainingSetup setup = lockstep(workers);
  setup.order.kind = UpdateKind::stale;
  for (int worker = 0; worker < workers; ++worker)
    setup.order.entries.push_back({.worker = worker, .staleness = staleness});
  return setup;
}
double steps_of(const TrainingSetup& setup) { return study({setup}, 2)[0].steps_to_target.middle; }
}  // namespace

TEST_CASE("the same seed gives the same curve on one thread and on two") {
  const TrainingSetup setup = lockstep(4);
  const auto one = study({setup}, 1), two = study({setup}, 2);
  for (std::size_t seed = 0; seed < 3; ++seed) {
    REQUIRE(one[0].runs[seed].curve.size() == two[0].runs[seed].curve.size());
    CHECK(one[0].runs[seed].final_loss == two[0].runs[seed].final_loss);
  }
  CHECK(one[0].runs[0].final_loss != one[0].runs[1].final_loss);
}

TEST_CASE(
    "training in lockstep reaches the target and more workers need fewer steps until the batch is "
    "large") {
  const double four = steps_of(lockstep(4)), sixteen = steps_of(lockstep(16)),
               sixty_four = steps_of(lockstep(64));
  CHECK(sixteen < 0.6 * four);
  CHECK(sixty_four < sixteen);
  // Beyond the noise scale a larger batch buys less than its size.
  CHECK(sixty_four > sixteen / 4);
}

TEST_CASE("a stale order with no staleness and one worker is lockstep with one worker") {
  CHECK(train(stale(1, 0)).final_loss == train(lockstep(1)).final_loss);
}

TEST_CASE("older gradients cost steps") {
  TrainingSetup fresh = stale(8, 0), old = stale(8, 24);
  CHECK(train(old).mean_staleness == Approx(24).margin(1));
  CHECK(study({old}, 2)[0].final_loss.middle > study({fresh}, 2)[0].final_loss.middle);
}

TEST_CASE("top-k with error feedback learns where without it it lags") {
  TrainingSetup with = lockstep(4), without = with;
  with.compressor = CompressorChoice{.scheme = "topk", .ratio = 0.01, .has_error_feedback = true};
  without.compressor =
      CompressorChoice{.scheme = "topk", .ratio = 0.01, .has_error_feedback = false};
  const auto results = study({lockstep(4), with, without}, 2);
  CHECK(results[1].final_loss.middle < results[2].final_loss.middle);
  // An index and a value for one element in a hundred.
  CHECK(results[1].runs[0].bytes_per_step ==
        Approx(results[0].runs[0].bytes_per_step * 0.02).epsilon(0.1));
}

TEST_CASE(
    "averaging every step by plain sgd without momentum is lockstep at the worker's learning "
    "rate") {
  TrainingSetup together = lockstep(4), apart = together;
  together.spec.momentum = apart.spec.momentum = 0;
  together.spec.rule = apart.spec.rule = LearningRateRule::none;
  together.spec.steps = apart.spec.steps = 20;
  apart.order.kind = UpdateKind::averaging;
  CHECK(train(apart).final_loss == Approx(train(together).final_loss).epsilon(1e-4));
}

TEST_CASE("rare averaging with skewed data learns less than with even data") {
  TrainingSetup even = lockstep(8), skewed = even;
  even.order.kind = skewed.order.kind = UpdateKind::averaging;
  even.order.period = skewed.order.period = 20;
  skewed.spec.skew = 0.9;
  CHECK(study({skewed}, 2)[0].final_loss.middle > study({even}, 2)[0].final_loss.middle);
}

TEST_CASE("every way of synchronising learns") {
  TrainingSetup setup = lockstep(4);
  setup.spec.steps = 120;
  for (int worker = 0; worker < 4; ++worker)
    setup.order.entries.push_back({.worker = worker, .peer = (worker + 1) % 4, .staleness = 3});
  for (const UpdateKind kind : {UpdateKind::stale, UpdateKind::averaging, UpdateKind::elastic,
                                UpdateKind::pairs, UpdateKind::ring}) {
    setup.order.kind = kind;
    setup.order.period = kind == UpdateKind::stale ? 1 : 4;
    const TrainingOutcome outcome = train(setup);
    CHECK_FALSE(outcome.has_diverged);
    CHECK(outcome.final_loss < 0.75 * teacher().start_loss);
  }
}

TEST_CASE("a dropped gradient leaves the others' mean and a step without it differs") {
  TrainingSetup all = lockstep(4), fewer = all;
  fewer.order.entries.push_back({.worker = 2, .step = 0, .is_dropped = true});
  fewer.order.recorded_steps = 1;  // dropped in every step
  CHECK(train(fewer).final_loss != train(all).final_loss);
  CHECK(study({fewer}, 2)[0].reached == 3);
}

TEST_CASE("every optimizer reaches the target and a wild rate is called diverged") {
  for (const OptimizerRule rule :
       {OptimizerRule::sgd, OptimizerRule::adam, OptimizerRule::lars, OptimizerRule::lamb}) {
    TrainingSetup setup = lockstep(4);
    setup.spec.optimizer = rule;
    if (rule == OptimizerRule::adam || rule == OptimizerRule::lamb)
      setup.spec.rule = LearningRateRule::sqrt;
    INFO(std::string(text_of(rule)));
    CHECK(train(setup).steps_to_target);
  }
  TrainingSetup wild = lockstep(4);
  wild.spec.learning_rate = 50;
  CHECK(train(wild).has_diverged);
}

TEST_CASE("clipping bounds the update and the gradient noise scale is positive") {
  TrainingSetup setup = lockstep(8);
  CHECK(train(setup).gradient_noise_scale > 1);
  setup.spec.clip_norm = 1e-3;
  CHECK_FALSE(train(setup).steps_to_target);
}
}  // namespace stepcast::runtime
