#include "calibrate/step/step_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "calibrate/step/step_accounting.hpp"
#include "runtime/launch/tcp_store.hpp"
#include "runtime/step/train_step.hpp"
#include "sim/core/robust_stats.hpp"
#include "sim/profile/kernel_key.hpp"
#include "sim/timeline/op_names.hpp"
#include "sim/workload/model_work.hpp"

namespace stepcast::calibrate {
using runtime::Trainer;
using runtime::TrainingPlan;

/// The runtime's own schemes have the simulator's names.
std::optional<runtime::CompressorChoice> compressor_of(const Scenario& scenario) {
  const CompressionSpec& spec = scenario.compression;
  if (spec.scheme == CompressionScheme::none) return std::nullopt;
  Problems problems;
  const auto refuse = [&](const char* key, const char* what, const char* hint) {
    problems.add({scenario.file, key, what, hint});
  };
  if (spec.scheme == CompressionScheme::dgc)
    refuse("/compression/scheme", "is dgc, which the runtime does not run", "topk");
  if (spec.two_level)
    refuse("/compression/two_level", "is true; the runtime has one level", "set it to false");
  if (spec.warmup_steps > 0)
    refuse("/compression/warmup_steps", "is not 0; the runtime keeps one share", "leave it out");
  if (!problems.empty()) throw InputError(problems);
  return runtime::CompressorChoice{.scheme = std::string(text_of(spec.scheme)),
                                   .ratio = spec.ratio,
                                   .rank = spec.rank,
                                   .has_error_feedback = spec.error_feedback,
                                   .seed = scenario.run.seed};
}

TrainingPlan plan_of(const Scenario& scenario, Seconds time_limit, const std::string& interface) {
  TrainingPlan plan;
  plan.model = scenario.model;
  plan.training = scenario.training;
  plan.layout = scenario.parallel;
  plan.buckets = {.bucket = scenario.strategy.bucket_bytes,
                  .first_bucket = scenario.strategy.first_bucket_bytes,
                  .overlaps = scenario.strategy.overlap_grad_reduce,
                  .compressor = compressor_of(scenario)};
  if (plan.training.optimizer == OptimizerKind::sgd) {
    plan.optimizer.learning_rate = 0.02f;  // with momentum 0.9; batches here are small
    plan.optimizer.weight_decay = 1e-4f;   // He et al. 2015
  }
  plan.optimizer.clip_norm = scenario.training.gradient_clip ? 1.0f : 0.0f;
  plan.seed = scenario.run.seed;
  plan.time_limit = time_limit;
  plan.interface = interface;
  return plan;
}

namespace {
/// The ops of one step of one rank in issue order, as the simulator states them.
std::vector<Op> ops_of(const TrainingPlan& plan) {
  const ModelWork work = model_work(plan.model, plan.training, plan.layout);
  std::vector<int> layers = work.before;
  layers.insert(layers.end(), work.blocks.begin(), work.blocks.end());
  layers.insert(layers.end(), work.after.begin(), work.after.end());
  std::vector<Op> ops;
  std::int64_t parameters = 0;
  for (const int kind : layers) {
    const LayerWork& layer = work.kinds[static_cast<std::size_t>(kind)];
    ops.insert(ops.end(), layer.forward.begin(), layer.forward.end());
    parameters += layer.dense_parameters;
  }
  for (auto kind = layers.rbegin(); kind != layers.rend(); ++kind) {
    const LayerWork& layer = work.kinds[static_cast<std::size_t>(*kind)];
    ops.insert(ops.end(), layer.recompute.begin(), layer.recompute.end());
    ops.insert(ops.end(), layer.backward.begin(), layer.backward.end());
  }
  const std::vector<Op> last = optimizer_ops(parameters, parameters, plan.training);
  ops.insert(ops.end(), last.begin(), last.end());
  return ops;
}

/// The plan on one rank with one micro-batch and as few blocks as keep kernels from finding their
/// operands in a cache that the whole step would have flushed: at least two, and more until
/// weights, gradients and activations exceed 64 MiB, twice the last-level cache that a core can
/// reach on current servers (AMD: 32 MiB per core complex).
TrainingPlan few_blocks(TrainingPlan plan) {
  constexpr double kEnough = 64.0 * 1048576;
  const ModelWork work = model_work(plan.model, plan.training, plan.layout);
  const LayerWork& block = work.kinds[static_cast<std::size_t>(work.blocks.front())];
  const double bytes = 8.0 * static_cast<double>(block.dense_parameters) +
                       static_cast<double>(block.activation.value);
  const auto enough = static_cast<std::int64_t>(std::ceil(kEnough / bytes));
  if (plan.model.kind == ModelKind::transformer) {  // other models' layers all differ
    std::int64_t& layers = plan.model.transformer.layers;
    layers = std::min(layers, std::max<std::int64_t>(2, enough));
  }
  plan.layout = ParallelLayout{};
  plan.training.global_batch = plan.training.micro_batch;
  plan.buckets.overlaps = false;
  return plan;
}

/// The optimizer's ops at the whole model's size, which two blocks do not have.
std::vector<Entry> optimizer_entries(Bench& bench, const TrainingPlan& plan) {
  const ModelWork work = model_work(plan.model, plan.training, plan.layout);
  std::int64_t held = 0;
  for (const auto* kinds : {&work.before, &work.blocks, &work.after})
    for (const int kind : *kinds)
      held += work.kinds[static_cast<std::size_t>(kind)].dense_parameters;
  const std::int64_t updated =
      plan.layout.zero_stage > 0 ? (held + plan.layout.dp - 1) / plan.layout.dp : held;
  runtime::Buffer w(bench.device, held, Precision::fp32), g(bench.device, held, Precision::fp32),
      m(bench.device, updated, Precision::fp32), v(bench.device, updated, Precision::fp32),
      sum(bench.device, 1, Precision::fp32);
  runtime::Kernels& kernels = bench.device.kernels();
  const std::int64_t normed = plan.layout.zero_stage > 0 ? updated : held;
  // One after the other, as a step runs them: each finds in the caches what the one before left
  // there.
  std::vector<std::pair<Op, std::function<void()>>> sequence;
  for (const Op& op : optimizer_ops(updated, normed, plan.training)) {
    std::function<void()> run;
    if (op.name == op::grad_norm)
      run = [&] { kernels.square_sum(bench.compute, g.view(), sum.view(), normed); };
    if (op.name == op::clip)
      run = [&] { kernels.clip(bench.compute, g.view(), sum.view(), 1.0f, normed); };
    if (op.name == op::adam)
      run = [&] {
        kernels.adam(bench.compute, {.elements = updated,
                                     .master = w.view(),
                                     .gradient = g.view(),
                                     .first = m.view(),
                                     .second = v.view(),
                                     .weights = w.view()});
      };
    if (op.name == op::sgd)
      run = [&] {
        kernels.sgd(bench.compute, {.elements = updated,
                                    .master = w.view(),
                                    .gradient = g.view(),
                                    .velocity = m.view(),
                                    .weights = w.view()});
      };
    if (op.name == op::zero_grad)
      run = [&] { bench.device.fill_zero(bench.compute, g.data(), Bytes(normed * 4)); };
    if (run) sequence.emplace_back(op, std::move(run));
  }
  std::vector<Sampler> samplers(sequence.size(), Sampler(bench.rule));
  runtime::Recorder& recorder = bench.device.recorder();
  const auto all_done = [&] {
    return std::all_of(samplers.begin(), samplers.end(),
                       [](const Sampler& s) { return s.is_done(); });
  };
  while (!all_done()) {
    recorder.start();
    for (const auto& [op, run] : sequence) {
      const runtime::OpScope scope(recorder, op.name);
      run();
    }
    bench.compute.synchronise();
    recorder.stop();
    for (const runtime::Activity& activity : recorder.activities())
      samplers[static_cast<std::size_t>(activity.label)].add(
          seconds_from_ns(activity.end - activity.start).value);
  }
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < sequence.size(); ++i)
    entries.push_back({kernel_key(sequence[i].first), samplers[i].summary()});
  return entries;
}

struct RecordedStep {
  Timeline timeline;
  /// From the host's first call to its return, without what the recorder does afterwards.
  double wall_s = 0;
};
RecordedStep recorded_step(Trainer& t, std::int64_t step) {
  t.device.recorder().start();
  const Nanoseconds from = runtime::Recorder::now();
  runtime::train_step(t, step);
  t.device.synchronise();
  const Nanoseconds to = runtime::Recorder::now();
  t.device.recorder().stop();
  return {runtime::timeline_of(t.device.recorder().labels(), t.device.recorder().activities(),
                               t.device.recorder().streams(), 0, t.rank),
          seconds_from_ns(to - from).value};
}
}  // namespace

Task op_task(const Scenario& scenario) {
  return {
      "step/ops", [scenario](Bench& bench) {
        const TrainingPlan plan = few_blocks(plan_of(scenario, bench.time_limit, bench.interface));
        const std::vector<Op> ops = ops_of(plan);
        const auto store = runtime::new_local_store(bench.time_limit);
        Trainer trainer(bench.backend, bench.device, *store, 0, plan);
        std::map<std::string, Sampler> samplers;
        StoppingRule rule = bench.rule;
        rule.min_samples = 5;
        Sampler gaps(rule), edges(rule);
        // Not a fixed count: as many steps as bring most ops to their precision, within the same
        // time as any other measurement has.
        const Nanoseconds begin = runtime::Recorder::now();
        for (std::int64_t step = 1; step <= 400; ++step) {
          trainer.load_batches(step);
          const auto [timeline, wall_s] = recorded_step(trainer, step);
          std::vector<const Span*> spans;
          for (const Span& span : timeline.spans)
            if (timeline.tracks[span.track].stream == "compute") spans.push_back(&span);
          STEPCAST_ASSERT(spans.size() == ops.size(),
                          "a measured step is the simulated step's ops, op by op "
                          "(tests/runtime/step/op_order_test.cpp)");
          std::size_t done = 0;
          double idle = 0, busy = 0;
          for (std::size_t i = 0; i < ops.size(); ++i) {
            STEPCAST_ASSERT(timeline.names.text_of(spans[i]->name) == ops[i].name,
                            "the two lists name the same ops");
            Sampler& sampler = samplers.try_emplace(kernel_key(ops[i]), rule).first->second;
            sampler.add(seconds_from_ns(spans[i]->end - spans[i]->start).value);
            done += sampler.is_done() ? 1 : 0;
            busy += seconds_from_ns(spans[i]->end - spans[i]->start).value;
            if (i + 1 < ops.size())
              idle += seconds_from_ns(std::max<Nanoseconds>(0, spans[i + 1]->start - spans[i]->end))
                          .value;
          }
          gaps.add(idle / static_cast<double>(ops.size()));
          edges.add(std::max(
              1e-9, wall_s - seconds_from_ns(spans.back()->end - spans.front()->start).value));
          const double elapsed = seconds_from_ns(runtime::Recorder::now() - begin).value;
          if ((step >= 12 && 10 * done >= 9 * ops.size()) ||
              (step >= 8 && elapsed > 30 * bench.rule.max_time_s))
            break;
        }
        std::vector<Entry> entries;
        for (const auto& [key, sampler] : samplers) entries.push_back({key, sampler.summary()});
        entries.push_back({"step/gap", gaps.summary()});
        entries.push_back({"step/edges", edges.summary()});
        for (Entry& entry :
             optimizer_entries(bench, plan_of(scenario, bench.time_limit, bench.interface)))
          if (!samplers.contains(entry.key)) entries.push_back(std::move(entry));
        return entries;
      }};
}

Task step_task(const Scenario& scenario) {
  return {"step/measured", [scenario](Bench& bench) {
            const TrainingPlan plan = plan_of(scenario, bench.time_limit, bench.interface);
            Trainer trainer(bench.backend, bench.device, bench.store, bench.world.rank(), plan);
            runtime::Buffer figure(bench.device, 1, Precision::fp32),
                host(bench.device, Bytes(4), runtime::MemoryKind::pinned_host);
            const auto slowest = [&](double seconds) {
              *host.view().as<float>() = static_cast<float>(seconds);
              bench.device.copy(bench.side, figure.data(), host.data(), Bytes(4));
              bench.world.all_reduce(bench.side, figure.view(), runtime::ElementCount{1},
                                     runtime::Reduction::max);
              bench.device.copy(bench.side, host.data(), figure.data(), Bytes(4));
              bench.side.synchronise();
              return static_cast<double>(*host.view().as<float>());
            };
            StoppingRule rule = bench.rule;
            rule.max_time_s = 25 * bench.rule.max_time_s;
            Sampler untraced(rule), traced(rule);
            std::array<Sampler, kCategories> parts;
            parts.fill(Sampler({.warm_window = 1,
                                .warm_agreement = 10,
                                .min_samples = 5,
                                .max_samples = 1 << 20,
                                .max_time_s = 1e9,
                                .half_width = 0}));
            double loss = 0;
            // Every rank sees the slowest rank's figures, so all leave the loop together.
            for (std::int64_t step = 1; step <= 300 && !(untraced.is_done() && traced.is_done());
                 ++step) {
              trainer.load_batches(step);
              const bool is_traced = step % 2 == 0;  // interleaved: drift hits both alike
              bench.world.barrier();
              RecordedStep recorded;
              if (is_traced) {
                recorded = recorded_step(trainer, step);
              } else {
                const Nanoseconds from = runtime::Recorder::now();
                runtime::train_step(trainer, step);
                bench.device.synchronise();
                recorded.wall_s = seconds_from_ns(runtime::Recorder::now() - from).value;
              }
              (is_traced ? traced : untraced).add(slowest(recorded.wall_s));
              if (is_traced && traced.is_warm()) {
                Nanoseconds end = 0;
                for (const Span& span : recorded.timeline.spans) end = std::max(end, span.end);
                const Breakdown breakdown = step_breakdown(recorded.timeline, 0, end);
                for (std::size_t category = 0; category < parts.size(); ++category)
                  parts[category].add(breakdown[category]);
              }
              loss = trainer.mean_loss();
              if (!std::isfinite(loss))
                throw EnvironmentError(
                    fmt::format("the loss of step {} is not a number; the device computes wrongly, "
                                "or the learning rate is too high",
                                step));
            }
            std::vector<Entry> entries{{"step/measured", untraced.summary()},
                                       {"step/traced", traced.summary()}};
            for (const auto& [category, name] : EnumText<Category>::table)
              entries.push_back({"step/part/" + std::string(name),
                                 parts[static_cast<std::size_t>(category)].summary()});
            entries.push_back(
                {"step/loss", plain_figure(loss, "nats per row of the loss, not a time")});
            return entries;
          }};
}
}  // namespace stepcast::calibrate
