#pragma once
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "runtime/launch/tcp_store.hpp"
#include "runtime/step/train_step.hpp"
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
/// Runs `body(trainer)` on every rank of the plan's layout, ranks being threads of this process;
/// rethrows the first failure.
inline void on_ranks(const TrainingPlan& plan, const std::function<void(Trainer&)>& body) {
  const auto store = new_local_store(plan.time_limit);
  std::vector<std::thread> ranks;
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(plan.layout.world()));
  for (int rank = 0; rank < plan.layout.world(); ++rank)
    ranks.emplace_back([&, rank] {
      try {
        const auto backend = backend_of("cpu");
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
