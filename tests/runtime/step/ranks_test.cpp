#include "tests/runtime/step/small_plan.hpp"

namespace stepcast::runtime::test {
namespace {
void require_same_curve(const std::vector<double>& a, const std::vector<double>& b,
                        double tolerance) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    INFO("step " << i + 1 << ": " << a[i] << " and " << b[i]);
    REQUIRE(std::abs(a[i] - b[i]) < tolerance * a[i]);
  }
}
TrainingPlan split(TrainingPlan plan, int dp, int tp = 1, int pp = 1) {
  plan.layout.dp = dp, plan.layout.tp = tp, plan.layout.pp = pp;
  plan.training.micro_batch = 4 / dp;
  return plan;
}
// fp32 sums in another order: 1e-6 at the first step, growing with each.
constexpr double kRounding = 2e-3;
}  // namespace

TEST_CASE("two data-parallel ranks train as one does", "[runtime][ranks]") {
  for (const Style style : {Style::gpt, Style::llama}) {
    const auto one = loss_curve(small_plan(style), 12);
    TrainingPlan plan = split(small_plan(style), 2);
    plan.buckets.bucket = Bytes(8 << 10);
    require_same_curve(one, loss_curve(plan, 12), kRounding);
    plan.buckets.overlaps = false;
    require_same_curve(one, loss_curve(plan, 12), kRounding);
  }
}
TEST_CASE("three data-parallel ranks hold equal parameters to the bit after training",
          "[runtime][ranks]") {
  TrainingPlan plan = small_plan(Style::llama);
  plan.layout.dp = 3;
  plan.training.global_batch = 6;
  plan.training.micro_batch = 1;
  plan.buckets.bucket = Bytes(16 << 10);
  for (const int zero : {0, 1}) {
    plan.layout.zero_stage = zero;
    std::vector<std::vector<float>> weights(3);
    on_ranks(plan, [&](Trainer& t) {
      for (int step = 1; step <= 4; ++step) {
        t.load_batches(step);
        train_step(t, step);
        t.mean_loss();
      }
      const auto* w = t.model->parameters().weights().as<float>();
      weights[static_cast<std::size_t>(t.rank)].assign(w, w + t.model->parameters().elements());
    });
    REQUIRE(weights[0] == weights[1]);
    REQUIRE(weights[0] == weights[2]);
  }
}
TEST_CASE("sharding the optimizer changes nothing but rounding", "[runtime][ranks]") {
  const auto one = loss_curve(small_plan(Style::gpt), 12);
  TrainingPlan plan = split(small_plan(Style::gpt), 2);
  plan.layout.zero_stage = 1;
  plan.buckets.bucket = Bytes(8 << 10);
  require_same_curve(one, loss_curve(plan, 12), kRounding);
}
TEST_CASE("two tensor-parallel ranks train as one does", "[runtime][ranks]") {
  for (const Style style : {Style::gpt, Style::llama}) {
    TrainingPlan whole = small_plan(style);
    whole.model.transformer.tied_embedding = style == Style::gpt;
    require_same_curve(loss_curve(whole, 8), loss_curve(split(whole, 1, 2), 8), kRounding);
  }
}
TEST_CASE("two pipeline stages train as one does under both schedules", "[runtime][ranks]") {
  TrainingPlan whole = small_plan(Style::llama);
  const auto one = loss_curve(whole, 8);
  TrainingPlan plan = split(whole, 1, 1, 2);
  plan.training.micro_batch = 1;
  for (const ScheduleKind kind : {ScheduleKind::one_f_one_b, ScheduleKind::gpipe}) {
    plan.layout.schedule = kind;
    require_same_curve(one, loss_curve(plan, 8), kRounding);
  }
}
TEST_CASE("data tensor and pipeline parallelism together train as one rank does",
          "[runtime][ranks]") {
  TrainingPlan whole = small_plan(Style::llama);
  TrainingPlan plan = split(whole, 2, 2, 2);
  plan.training.micro_batch = 1;
  plan.layout.zero_stage = 1;
  require_same_curve(loss_curve(whole, 5), loss_curve(plan, 5), kRounding);
}

TEST_CASE("buckets leave while the backward runs when overlap is on", "[runtime][ranks]") {
  for (const bool overlaps : {true, false}) {
    // Wide enough that the backward outlasts a thread's wake-up on a busy machine: 6 * 3 M
    // parameters * 128 tokens = 2.4 GFLOP.
    TrainingPlan plan = split(small_plan(Style::llama), 2);
    TransformerSpec& model = plan.model.transformer;
    model.layers = 4, model.hidden = 256, model.head_dim = 64, model.ffn = 768;
    plan.training.sequence_length = 64;
    plan.buckets = {.bucket = Bytes(256 << 10), .overlaps = overlaps};
    struct Seen {
      Nanoseconds first_reduce = -1, backward_end = 0;
      int reduces = 0;
    };
    std::vector<Seen> seen(2);
    on_ranks(plan, [&](Trainer& t) {
      for (int step = 1; step <= 2; ++step) {
        t.load_batches(step);
        if (step == 2) t.device.recorder().start();
        train_step(t, step);
        t.device.synchronise();
      }
      t.device.recorder().stop();
      const Timeline timeline =
          timeline_of(t.device.recorder().labels(), t.device.recorder().activities(),
                      t.device.recorder().streams(), 0, t.rank);
      Seen& mine = seen[static_cast<std::size_t>(t.rank)];
      for (const Span& span : timeline.spans) {
        const std::string& stream = timeline.tracks[span.track].stream;
        if (stream == "gradient") {
          mine.first_reduce = mine.first_reduce < 0 ? span.start : mine.first_reduce;
          ++mine.reduces;
        }
        if (stream == "compute" && span.category == Category::compute) mine.backward_end = span.end;
      }
    });
    for (const Seen& rank : seen) {
      if (overlaps) {
        REQUIRE(rank.reduces > 3);
        REQUIRE(rank.first_reduce < rank.backward_end);
      } else {
        REQUIRE(rank.reduces == 1);
        REQUIRE(rank.first_reduce >= rank.backward_end);
      }
    }
  }
}
}  // namespace stepcast::runtime::test
