#include <cmath>
#include <numeric>

#include "sim/core/random.hpp"
#include "tests/runtime/step/small_plan.hpp"

namespace stepcast::runtime::test {
namespace {
struct GradientCheck {
  std::string tensor;
  double from_backward, from_differences;
};

/// Each tensor's gradient along a random direction d against (L(w + h d) - L(w - h d)) / 2h.
std::vector<GradientCheck> check_gradients(const TrainingPlan& plan, double h) {
  std::vector<GradientCheck> checks;
  on_ranks(plan, [&](Trainer& t) {
    t.load_batches(1);
    const LayerContext context{t.device, *t.compute, t.tensor_parallel.get(), 0};
    const auto loss = [&] {
      t.model->forward(context, t.micro_batch(0), {});
      t.compute->synchronise();
      const auto* losses = t.model->losses(0).as<float>();
      return std::accumulate(losses, losses + t.model->loss_rows(), 0.0) /
             static_cast<double>(t.model->loss_rows());
    };
    Parameters& parameters = t.model->parameters();
    // Away from the symmetric start, so that no gradient is tiny.
    for (const Parameter& p : parameters.list())
      for (std::int64_t i = 0; i < p.elements(); ++i)
        parameters.weights(p.offset).as<float>()[i] += static_cast<float>(
            0.2 * normal_from_bits(mixed_bits(77, static_cast<std::uint64_t>(p.offset + i))));
    loss();
    t.model->backward(context, t.micro_batch(0), {}, 1.0f, nullptr);
    t.compute->synchronise();
    for (std::size_t index = 0; index < parameters.list().size(); ++index) {
      const Parameter& p = parameters.list()[index];
      auto* w = parameters.weights(p.offset).as<float>();
      const auto* g = parameters.gradients(p.offset).as<float>();
      const std::vector<float> base(w, w + p.elements());
      std::vector<double> direction;
      double squares = 0, along = 0;
      for (std::int64_t i = 0; i < p.elements(); ++i) {
        // Along the gradient itself with some noise: a random direction would be nearly orthogonal
        // and all rounding.
        direction.push_back(static_cast<double>(g[i]) +
                            0.1 * std::abs(static_cast<double>(g[i])) *
                                normal_from_bits(mixed_bits(5, static_cast<std::uint64_t>(i))));
        squares += direction.back() * direction.back();
      }
      for (std::int64_t i = 0; i < p.elements(); ++i) {
        direction[static_cast<std::size_t>(i)] /= std::sqrt(squares);
        along += direction[static_cast<std::size_t>(i)] * static_cast<double>(g[i]);
      }
      const auto moved = [&](double by) {
        for (std::int64_t i = 0; i < p.elements(); ++i)
          w[i] = static_cast<float>(static_cast<double>(base[static_cast<std::size_t>(i)]) +
                                    by * direction[static_cast<std::size_t>(i)]);
        return loss();
      };
      // Two differences cancel the h^2 term: (4 D(h/2) - D(h)) / 3.
      const double wide = (moved(h) - moved(-h)) / (2 * h),
                   narrow = (moved(h / 2) - moved(-h / 2)) / h;
      moved(0);
      checks.push_back({p.name, along, (4 * narrow - wide) / 3});
    }
  });
  return checks;
}
}  // namespace

TEST_CASE("every tensor's gradient matches finite differences", "[runtime][step]") {
  for (TrainingPlan plan : every_model()) {
    plan.optimizer.table_rate = 0;  // the loss must stay the same function
    // fp32 losses are good to 1e-7, their differences to 1e-7 / h. Networks of relu and max pooling
    // are not smooth: a long move takes some of their inputs over a kink, a short one fewer.
    const bool is_smooth = plan.model.kind == ModelKind::transformer;
    const double h = is_smooth ? 0.02 : 0.002, tolerance = is_smooth ? 0.01 : 0.02;
    for (const GradientCheck& check : check_gradients(plan, h)) {
      INFO(text_of(plan.model.kind) << " " << check.tensor << ": backward " << check.from_backward
                                    << ", differences " << check.from_differences);
      REQUIRE(check.from_backward > 1e-4);
      REQUIRE(std::abs(check.from_backward - check.from_differences) <
              tolerance * check.from_backward);
    }
  }
}

TEST_CASE("training brings the loss from that of a guess to near what can be learnt",
          "[runtime][step]") {
  for (const Style style : {Style::gpt, Style::llama}) {
    const std::vector<double> losses = loss_curve(small_plan(style), 150);
    REQUIRE(losses.front() ==
            Approx(std::log(60.0)).epsilon(0.05));  // a uniform guess over 60 words
    // Best reachable on average: 0.72 (0.9 partner, 0.1 any of 60); 640 tokens scatter it by 0.08.
    const double last = std::accumulate(losses.end() - 10, losses.end(), 0.0) / 10;
    REQUIRE(last < 1.7);
    REQUIRE(last > 0.4);
  }
}

TEST_CASE("recomputing every block gives the same losses to the bit", "[runtime][step]") {
  TrainingPlan plan = small_plan(Style::llama);
  const auto kept = loss_curve(plan, 5);
  plan.training.recompute = Recompute::full;
  REQUIRE(loss_curve(plan, 5) == kept);
}

TEST_CASE("accumulating over micro-batches is the same step as one large batch",
          "[runtime][step]") {
  TrainingPlan plan = small_plan(Style::gpt);
  const auto whole = loss_curve(plan, 6);
  plan.training.micro_batch = 1;
  const auto parts = loss_curve(plan, 6);
  for (std::size_t i = 0; i < whole.size(); ++i)
    REQUIRE(parts[i] == Approx(whole[i]).epsilon(1e-4));
}

TEST_CASE("what the runtime cannot train is refused all at once", "[runtime][step]") {
  TrainingPlan plan = small_plan(Style::gpt);
  plan.model.transformer.dropout = true;
  plan.training.precision = Precision::bf16;
  plan.training.fusion = Fusion::eager;
  try {
    on_ranks(plan, [](Trainer&) {});
    FAIL("accepted");
  } catch (const InputError& error) {
    REQUIRE(error.problems.size() == 3);
    REQUIRE_THAT(error.what(), Catch::Contains("the cpu backend trains in fp32"));
  }
}
}  // namespace stepcast::runtime::test
