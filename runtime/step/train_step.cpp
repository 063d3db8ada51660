#include "runtime/step/train_step.hpp"

namespace stepcast::runtime {
namespace {
LayerContext context_of(Trainer& t, const Work& work) {
  return {t.device, *t.compute, t.tensor_parallel.get(),
          static_cast<std::int32_t>(work.micro_batch)};
}
StageTensors tensors_of(const Trainer& t) { return t.links ? t.links->tensors() : StageTensors{}; }

void forward(Trainer& t, const Work& work) {
  if (t.links) t.links->before_forward(work.micro_batch);
  t.model->forward(context_of(t, work), t.micro_batch(work.micro_batch), tensors_of(t));
  if (t.links) t.links->after_forward(work.micro_batch);
}
void backward(Trainer& t, const Work& work, GradientSink* sink) {
  if (t.links) t.links->before_backward(work.micro_batch);
  t.model->backward(context_of(t, work), t.micro_batch(work.micro_batch), tensors_of(t),
                    t.loss_scale, sink);
  if (t.links) t.links->after_backward(work.micro_batch);
}
}  // namespace

void train_step(Trainer& t, std::int64_t step) {
  t.buckets->begin();
  for (const Work& work : t.schedule) {
    const bool is_last = &work == &t.schedule.back();
    if (work.is_forward())
      forward(t, work);
    else
      backward(
          t, work,
          is_last ? t.buckets.get() : nullptr);  // the last one: full buckets leave while it runs
  }
  t.buckets->wait_for_gradients();
  t.optimizer->clip_gradients(*t.compute);
  t.optimizer->update_parameters(*t.compute, step);
  t.optimizer->gather_parameters(*t.compute, *t.data_parallel);
}
}  // namespace stepcast::runtime
