#pragma once
#include <functional>
#include <thread>
#include <vector>

#include "runtime/launch/tcp_store.hpp"
#include "runtime/step/train_step.hpp"
#include "sim/io/json.hpp"
#include "tests/runtime/device/backend_under_test.hpp"
#include "tests/support/test.hpp"

namespace stepcast::runtime::test {
enum class Style { gpt, llama };
/// Two blocks of width 32, 16 tokens, 60 words: small enough for differences, with every kind of
/// tensor.
inline TrainingPlan small_plan(Style style) {
  TrainingPlan plan;
  plan.model.kind = ModelKind::transformer;
  TransformerSpec& m = plan.model.transformer;
  m.layers = 2, m.hidden = 32, m.heads = 4, m.head_dim = 8, m.ffn = 48, m.vocab = 60;
  const bool llama = style == Style::llama;
  m.kv_heads = llama ? 2 : 4;
  m.rope = llama, m.gated = llama, m.bias = !llama, m.tied_embedding = !llama;
  m.max_positions = llama ? 0 : 16;
  m.norm = llama ? NormKind::rmsnorm : NormKind::layernorm;
  plan.training.global_batch = 4;
  plan.training.micro_batch = 4;
  plan.training.sequence_length = 16;
  plan.training.precision = Precision::fp32;
  plan.training.master_weights = false;
  plan.optimizer.learning_rate = 3e-3f;
  plan.time_limit = Seconds(20);
  return plan;
}
inline ModelSpec model_of(const Json& document) {
  Problems problems;
  const ModelSpec model = read_model(ObjectReader(document, "test", "/model", problems));
  if (!problems.empty()) throw InputError(problems);
  return model;
}
inline TrainingPlan plan_of(const Json& model, OptimizerKind optimizer) {
  TrainingPlan plan;
  plan.model = model_of(model);
  plan.training.global_batch = 4;
  plan.training.micro_batch = 4;
  plan.training.sequence_length = 1;
  plan.training.precision = Precision::fp32;
  plan.training.master_weights = false;
  plan.training.optimizer = optimizer;
  plan.time_limit = Seconds(20);
  return plan;
}
/// A ResNet in small: stem with pooling, a basic block with a shortcut convolution, one without,
/// a bottleneck; images of 16 x 16, 4 classes.
inline TrainingPlan conv_plan() {
  TrainingPlan plan =
      plan_of({{"kind", "cnn"},
               {"image", 16},
               {"classes", 4},
               {"layers",
                {{{"name", "stem"}, {"channels", 8}, {"kernel", 3}, {"pool", 2}},
                 {{"block", "basic"}, {"name", "one"}, {"channels", 8}},
                 {{"block", "basic"}, {"name", "two"}, {"channels", 16}, {"stride", 2}},
                 {{"block", "bottleneck"}, {"name", "three"}, {"channels", 16}}}}},
              OptimizerKind::sgd);
  plan.optimizer.learning_rate = 0.05f;
  plan.optimizer.weight_decay = 1e-4f;
  return plan;
}
/// Without batch norm, with a classifier of two layers that sees every position: VGG in small.
inline TrainingPlan plain_conv_plan() {
  TrainingPlan plan =
      plan_of({{"kind", "cnn"},
               {"image", 8},
               {"classes", 4},
               {"flatten", true},
               {"hidden_fc", {16}},
               {"layers",
                {{{"name", "one"}, {"channels", 8}, {"batch_norm", false}, {"pool", 2}},
                 {{"name", "two"}, {"channels", 8}, {"batch_norm", false}}}}},
              OptimizerKind::sgd);
  plan.optimizer.learning_rate = 0.02f;
  return plan;
}
/// Three tables: two ranks do not share them evenly.
inline TrainingPlan click_plan() {
  TrainingPlan plan = plan_of({{"kind", "dlrm"},
                               {"tables", 3},
                               {"rows_per_table", 20},
                               {"embedding_dim", 8},
                               {"dense_features", 5},
                               {"pooling", 2},
                               {"bottom_mlp", {16, 8}},
                               {"top_mlp", {16, 1}}},
                              OptimizerKind::adam);
  plan.training.global_batch = plan.training.micro_batch = 16;
  plan.optimizer.learning_rate = 1e-2f;
  plan.optimizer.weight_decay = 0;
  return plan;
}
inline std::vector<TrainingPlan> every_model() {
  return {small_plan(Style::gpt), small_plan(Style::llama), conv_plan(), plain_conv_plan(),
          click_plan()};
}
/// Runs `body(trainer)` on every rank of the plan's layout, ranks being threads of this process;
/// rethrows the first failure.
inline void on_ranks(const TrainingPlan& plan, const std::function<void(Trainer&)>& body) {
  const auto store = new_local_store(plan.time_limit);
  std::vector<std::thread> ranks;
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(plan.layout.world()));
  for (int rank = 0; rank < plan.layout.world(); ++rank)
    ranks.emplace_back([&, rank] {
      try {
        const auto backend = backend_of(backend_under_test());
        const auto device = backend->open(rank);
        Trainer trainer(*backend, *device, *store, rank, plan);
        body(trainer);
      } catch (...) {
        failures[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  for (std::thread& rank : ranks) rank.join();
  for (const auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
}
/// Loss of each of `steps` steps.
inline std::vector<double> loss_curve(const TrainingPlan& plan, int steps) {
  std::vector<double> losses;
  on_ranks(plan, [&](Trainer& trainer) {
    for (int step = 1; step <= steps; ++step) {
      trainer.load_batches(step);
      train_step(trainer, step);
      const double loss = trainer.mean_loss();
      if (trainer.rank == 0) losses.push_back(loss);
    }
  });
  return losses;
}
}  // namespace stepcast::runtime::test
