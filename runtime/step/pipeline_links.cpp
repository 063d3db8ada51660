#include "runtime/step/pipeline_links.hpp"

#include "sim/timeline/op_names.hpp"

namespace stepcast::runtime {

PipelineLinks::PipelineLinks(Device& device, Stream& compute, Communicator& group,
                             std::int64_t elements, Precision precision)
    : device_(device),
      compute_(compute),
      group_(group),
      elements_(elements),
      precision_(precision),
      send_(device.new_stream("send", StreamPriority::high)),
      receive_(device.new_stream("recv", StreamPriority::high)),
      input_(box()),
      output_(box()),
      output_gradient_(box()),
      input_gradient_(box()) {}

PipelineLinks::Box PipelineLinks::box() const {
  return {Buffer(device_, elements_, precision_), device_.new_event(), device_.new_event()};
}
StageTensors PipelineLinks::tensors() const {
  return {input_.data.view(), output_.data.view(), output_gradient_.data.view(),
          input_gradient_.data.view()};
}

void PipelineLinks::receive(Box& box, int from, std::int32_t micro_batch) {
  if (box.was_used) receive_->wait_for(*box.emptied);
  {
    const OpScope scope(device_.recorder(), op::recv, Category::exposed_pp, micro_batch);
    group_.receive(*receive_, box.data.view(), ElementCount{elements_}, from);
  }
  make_wait(compute_, *receive_, *box.filled);
  box.was_used = true;
}
void PipelineLinks::send(Box& box, int to, std::int32_t micro_batch) {
  make_wait(*send_, compute_, *box.filled);
  {
    const OpScope scope(device_.recorder(), op::send, Category::exposed_pp, micro_batch);
    group_.send(*send_, box.data.view(), ElementCount{elements_}, to);
  }
  send_->record(*box.emptied);
  box.was_used = true;
}
void PipelineLinks::reserve(Box& box) {
  if (box.was_used) compute_.wait_for(*box.emptied);
}

void PipelineLinks::before_forward(std::int32_t micro_batch) {
  if (group_.rank() > 0) receive(input_, group_.rank() - 1, micro_batch);
  if (group_.rank() + 1 < group_.size()) reserve(output_);
}
void PipelineLinks::after_forward(std::int32_t micro_batch) {
  if (group_.rank() > 0) compute_.record(*input_.emptied);
  if (group_.rank() + 1 < group_.size()) send(output_, group_.rank() + 1, micro_batch);
}
void PipelineLinks::before_backward(std::int32_t micro_batch) {
  if (group_.rank() + 1 < group_.size()) receive(output_gradient_, group_.rank() + 1, micro_batch);
  if (group_.rank() > 0) reserve(input_gradient_);
}
void PipelineLinks::after_backward(std::int32_t micro_batch) {
  if (group_.rank() + 1 < group_.size()) compute_.record(*output_gradient_.emptied);
  if (group_.rank() > 0) send(input_gradient_, group_.rank() - 1, micro_batch);
}
}  // namespace stepcast::runtime
