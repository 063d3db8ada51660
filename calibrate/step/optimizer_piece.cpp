// The optimizer's part of op_piece.hpp.
#include <algorithm>

#include "calibrate/step/op_piece.hpp"
#include "sim/profile/kernel_key.hpp"
#include "sim/timeline/op_names.hpp"
#include "sim/workload/model_work.hpp"

namespace stepcast::calibrate {

OptimizerPiece::OptimizerPiece(Bench& bench, const runtime::TrainingPlan& plan) : bench_(bench) {
  const ModelWork work = model_work(plan.model, plan.training, plan.layout);
  std::int64_t held = 0;
  for (const auto* kinds : {&work.before, &work.blocks, &work.after})
    for (const int kind : *kinds)
      held += work.kinds[static_cast<std::size_t>(kind)].dense_parameters;
  const bool is_sharded = plan.layout.zero_stage > 0;
  const std::int64_t updated = is_sharded ? (held + plan.layout.dp - 1) / plan.layout.dp : held,
                     normed = is_sharded ? updated : held;
  for (const std::int64_t elements : {held, held, updated, updated, std::int64_t{1}})
    buffers_.emplace_back(bench.device, elements, Precision::fp32);
  const runtime::View w = buffers_[0].view(), g = buffers_[1].view(), m = buffers_[2].view(),
                      v = buffers_[3].view(), sum = buffers_[4].view();
  runtime::Kernels& kernels = bench.device.kernels();
  // One after the other, as a step runs them: each finds in the caches what the one before left
  // there.
  for (const Op& op : optimizer_ops(updated, normed, plan.training)) {
    std::function<void()> run;
    if (op.name == op::grad_norm)
      run = [=, &bench, &kernels] { kernels.square_sum(bench.compute, g, sum, normed); };
    if (op.name == op::clip)
      run = [=, &bench, &kernels] { kernels.clip(bench.compute, g, sum, 1.0f, normed); };
    if (op.name == op::adam)
      run = [=, &bench, &kernels] {
        kernels.adam(bench.compute, {.elements = updated,
                                     .master = w,
                                     .gradient = g,
                                     .first = m,
                                     .second = v,
                                     .weights = w});
      };
    if (op.name == op::sgd)
      run = [=, &bench, &kernels] {
        kernels.sgd(bench.compute,
                    {.elements = updated, .master = w, .gradient = g, .velocity = m, .weights = w});
      };
    if (op.name == op::zero_grad)
      run = [=, &bench] {
        bench.device.fill_zero(bench.compute, g.data,
                               Bytes(normed * bytes_per_element(g.precision)));
      };
    if (run) sequence_.emplace_back(op, std::move(run));
  }
  for (runtime::Buffer& buffer : buffers_)
    bench.device.fill_zero(bench.compute, buffer.data(), buffer.bytes());
  bench.compute.synchronise();
  samples_.resize(sequence_.size());
}

void OptimizerPiece::round() {
  constexpr int kSequences = 4;  // the first one finds cold buffers
  runtime::Recorder& recorder = bench_.device.recorder();
  for (int i = 0; i < kSequences; ++i) {
    bench_.world.barrier();
    recorder.start();
    for (const auto& [op, run] : sequence_) {
      const runtime::OpScope scope(recorder, op.name);
      run();
    }
    bench_.compute.synchronise();
    recorder.stop();
    if (i == 0) continue;
    for (const runtime::Activity& activity : recorder.activities())
      samples_[static_cast<std::size_t>(activity.label)].push_back(
          seconds_from_ns(activity.end - activity.start).value);
  }
}

std::vector<Entry> OptimizerPiece::entries() const {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < sequence_.size(); ++i) {
    Sampler all(every_sample());
    for (const double seconds : samples_[i]) all.add(seconds);
    entries.push_back({kernel_key(sequence_[i].first), all.summary()});
  }
  return entries;
}
}  // namespace stepcast::calibrate
