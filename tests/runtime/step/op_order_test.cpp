#include "sim/workload/model_work.hpp"
#include "tests/runtime/step/small_plan.hpp"

namespace stepcast::runtime::test {
namespace {
std::vector<std::string> simulated(const TrainingPlan& plan) {
  const ModelWork work = model_work(plan.model, plan.training, plan.layout);
  std::vector<int> layers = work.before;
  layers.insert(layers.end(), work.blocks.begin(), work.blocks.end());
  layers.insert(layers.end(), work.after.begin(), work.after.end());
  std::vector<std::string> names;
  std::int64_t parameters = 0;
  const auto add = [&names](const std::vector<Op>& ops) {
    for (const Op& op : ops) names.push_back(op.name);
  };
  for (const int kind : layers) {
    add(work.kinds[static_cast<std::size_t>(kind)].forward);
    parameters += work.kinds[static_cast<std::size_t>(kind)].dense_parameters;
  }
  for (auto kind = layers.rbegin(); kind != layers.rend(); ++kind) {
    add(work.kinds[static_cast<std::size_t>(*kind)].recompute);
    add(work.kinds[static_cast<std::size_t>(*kind)].backward);
  }
  add(optimizer_ops(parameters, parameters, plan.training));
  return names;
}
std::vector<std::string> measured(const TrainingPlan& plan) {
  std::vector<std::string> names;
  on_ranks(plan, [&](Trainer& t) {
    t.load_batches(1);
    t.device.recorder().start();
    train_step(t, 1);
    t.device.synchronise();
    t.device.recorder().stop();
    for (const OpLabel& label : t.device.recorder().labels()) names.emplace_back(label.name);
  });
  return names;
}
}  // namespace

TEST_CASE("a measured step consists of the simulated step's ops in the same order",
          "[runtime][step]") {
  for (TrainingPlan plan : every_model())
    for (const Recompute recompute : {Recompute::none, Recompute::full}) {
      if (recompute == Recompute::full && plan.model.kind != ModelKind::transformer) continue;
      plan.training.recompute = recompute;
      REQUIRE(measured(plan) == simulated(plan));
    }
}

TEST_CASE("a model holds as many parameters as the simulator counts", "[runtime][step]") {
  for (const TrainingPlan& plan : every_model()) {
    const ModelWork work = model_work(plan.model, plan.training, plan.layout);
    std::int64_t counted = 0;
    for (const auto& kinds : {work.before, work.blocks, work.after})
      for (const int kind : kinds)
        counted += work.kinds[static_cast<std::size_t>(kind)].dense_parameters;
    on_ranks(plan, [&](Trainer& t) { REQUIRE(t.model->parameters().used_elements() == counted); });
  }
}

TEST_CASE("the backward reports gradients in the order that it promised", "[runtime][step]") {
  struct Notes final : GradientSink {
    void ready_from(std::int64_t offset) override { offsets.push_back(offset); }
    std::vector<std::int64_t> offsets;
  };
  for (const TrainingPlan& plan : every_model())
    on_ranks(plan, [](Trainer& t) {
      t.load_batches(1);
      const LayerContext context{t.device, *t.compute, nullptr, 0};
      Notes notes;
      t.model->forward(context, t.micro_batch(0), {});
      t.model->backward(context, t.micro_batch(0), {}, 1.0f, &notes);
      t.compute->synchronise();
      REQUIRE(notes.offsets == t.model->ready_offsets());
      REQUIRE(std::is_sorted(notes.offsets.rbegin(), notes.offsets.rend()));
    });
}
}  // namespace stepcast::runtime::test
