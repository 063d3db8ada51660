#include <cmath>
#include <numeric>

#include "runtime/model/conv_topology.hpp"
#include "tests/runtime/step/small_plan.hpp"

/// Convolutional networks and recommenders: what transformers have no tests for.
namespace stepcast::runtime::test {
namespace {
double mean_of_last(const std::vector<double>& losses, int n) {
  return std::accumulate(losses.end() - n, losses.end(), 0.0) / n;
}
void require_same_curve(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    INFO("step " << i + 1 << ": " << a[i] << " and " << b[i]);
    REQUIRE(std::abs(a[i] - b[i]) < 2e-3 * a[i]);  // fp32 sums in another order
  }
}
}  // namespace

TEST_CASE("a residual network learns to tell four classes", "[runtime][step]") {
  TrainingPlan plan = conv_plan();
  plan.training.global_batch = plan.training.micro_batch = 16;
  const std::vector<double> losses = loss_curve(plan, 80);
  REQUIRE(losses.front() == Approx(std::log(4.0)).epsilon(0.1));  // a guess among 4
  REQUIRE(mean_of_last(losses, 10) < 0.5 * losses.front());
}
TEST_CASE("a recommender learns who clicks", "[runtime][step]") {
  TrainingPlan plan = click_plan();
  plan.training.global_batch = plan.training.micro_batch = 64;
  plan.optimizer.table_rate = 4.0f;  // a row is looked up by few of the samples that share the mean
  const std::vector<double> losses = loss_curve(plan, 400);
  REQUIRE(losses.front() == Approx(std::log(2.0)).epsilon(0.2));  // a guess between 2
  REQUIRE(mean_of_last(losses, 20) < 0.6 * std::log(2.0));
}

TEST_CASE("two ranks train a residual network as one does with two micro-batches",
          "[runtime][ranks]") {
  // Statistics of a batch norm are those of a micro-batch: two samples on either side.
  TrainingPlan one = conv_plan();
  one.training.micro_batch = 2;
  TrainingPlan two = one;
  two.layout.dp = 2;
  two.buckets.bucket = Bytes(4 << 10);
  require_same_curve(loss_curve(one, 8), loss_curve(two, 8));
}
TEST_CASE("two and three ranks train a recommender as one does", "[runtime][ranks]") {
  // Three tables: 2 + 1 on two ranks, one each on three. Weights are pooled by other ranks then.
  TrainingPlan one = click_plan();
  one.training.global_batch = one.training.micro_batch = 24;
  const std::vector<double> whole = loss_curve(one, 8);
  for (const int ranks : {2, 3}) {
    TrainingPlan split = one;
    split.layout.dp = ranks;
    split.training.micro_batch = 24 / ranks;
    require_same_curve(whole, loss_curve(split, 8));
  }
}

TEST_CASE("tables move against the gradient that differences give", "[runtime][step]") {
  TrainingPlan plan = click_plan();
  plan.optimizer.table_rate = 1.0f;  // the move is minus the gradient itself
  on_ranks(plan, [](Trainer& t) {
    t.load_batches(1);
    const LayerContext context{t.device, *t.compute, nullptr, 0};
    const auto loss = [&] {
      t.model->forward(context, t.micro_batch(0), {});
      t.compute->synchronise();
      const auto* losses = t.model->losses(0).as<float>();
      return std::accumulate(losses, losses + t.model->loss_rows(), 0.0) /
             static_cast<double>(t.model->loss_rows());
    };
    auto* w = t.model->local_tables().as<float>();
    const auto elements = static_cast<std::size_t>(t.model->local_table_elements());
    REQUIRE(elements == 3 * 20 * 8);
    for (std::size_t i = 0; i < elements; ++i) w[i] += i % 3 == 0 ? 0.3f : -0.2f;
    loss();
    const std::vector<float> before(w, w + elements);
    t.model->backward(context, t.micro_batch(0), {}, 1.0f, nullptr);
    t.compute->synchronise();
    std::vector<double> gradient;
    double squares = 0;
    for (std::size_t i = 0; i < elements; ++i) {
      gradient.push_back(static_cast<double>(before[i]) - static_cast<double>(w[i]));
      squares += gradient.back() * gradient.back();
    }
    REQUIRE(squares > 1e-6);
    // Along the gradient itself the slope is its norm.
    const double norm = std::sqrt(squares), h = 0.002;  // relu: few kinks on the way
    const auto at = [&](double by) {
      for (std::size_t i = 0; i < elements; ++i)
        w[i] = static_cast<float>(static_cast<double>(before[i]) + by * gradient[i] / norm);
      return loss();
    };
    REQUIRE((at(h) - at(-h)) / (2 * h) == Approx(norm).epsilon(0.02));
  });
}

TEST_CASE("residual blocks are read from a list of convolutions", "[runtime][model]") {
  Problems problems;
  const CnnSpec model = conv_plan().model.cnn;
  const std::vector<ConvNode> nodes = conv_topology(model, problems);
  REQUIRE(problems.empty());
  // 0 stem; one: 1 a, 2 b (joins the stem's output, equal in shape); two: 3 shortcut, 4 a, 5 b
  // (joins the shortcut's); three: 6 a, 7 b, 8 c (joins block two's output).
  const std::vector<std::pair<int, int>> expected{{-1, -2}, {0, -2}, {1, 0},  {2, -2}, {2, -2},
                                                  {4, 3},   {5, -2}, {6, -2}, {7, 5}};
  REQUIRE(nodes.size() == expected.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    INFO(model.layers[i].name);
    REQUIRE(std::pair(nodes[i].input, nodes[i].skip) == expected[i]);
  }
}
TEST_CASE("branches and layers without a kernel are refused by name", "[runtime][model]") {
  TrainingPlan plan = conv_plan();
  plan.model.cnn.layers[4].c_in = 5;
  plan.model.cnn.layers[8].squeeze_excite = true;
  try {
    on_ranks(plan, [](Trainer&) {});
    FAIL("accepted");
  } catch (const InputError& error) {
    REQUIRE(error.problems.size() == 2);
    REQUIRE_THAT(error.what(), Catch::Contains("two_1_a") && Catch::Contains("no branches") &&
                                   Catch::Contains("squeeze-and-excite"));
  }
}
TEST_CASE("a recommender with a cross network or broken bags is refused", "[runtime][model]") {
  TrainingPlan plan = click_plan();
  plan.model.dlrm.cross_layers = 2;
  plan.model.dlrm.pooling = 1.5;
  try {
    on_ranks(plan, [](Trainer&) {});
    FAIL("accepted");
  } catch (const InputError& error) {
    REQUIRE(error.problems.size() == 2);
  }
}
}  // namespace stepcast::runtime::test
