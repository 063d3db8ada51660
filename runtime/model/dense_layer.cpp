#include "runtime/model/dense_layer.hpp"

#include <cmath>

#include "sim/timeline/op_names.hpp"

namespace stepcast::runtime {

DenseLayer::DenseLayer(Device& device, Parameters& parameters, const std::string& prefix,
                       const Shape& shape, Precision precision)
    : shape_(shape),
      // He et al. 2015, arXiv:1502.01852: keeps the variance through relu.
      weight_(parameters.add({.name = prefix + ".weight",
                              .rows = shape.out,
                              .columns = shape.in,
                              .deviation = std::sqrt(2.0 / static_cast<double>(shape.in))})),
      bias_(parameters.add({.name = prefix + ".bias", .columns = shape.out})),
      pre_(device, shape.rows * shape.out, precision),
      dpre_(device, shape.rows * shape.out, precision) {}

LinearCall DenseLayer::linear(const Parameters& parameters, View x) const {
  return {.name = shape_.name,
          .rows = shape_.rows,
          .out = shape_.out,
          .in = shape_.in,
          .x = x,
          .weight = parameters.weight(weight_),
          .y = pre_.view(),
          .dy = dpre_.view(),
          .dweight = parameters.gradient(weight_)};
}

void DenseLayer::forward(const LayerContext& c, const Parameters& parameters, View x,
                         View y) const {
  LinearCall call = linear(parameters, x);
  if (!shape_.has_relu) call.bias = parameters.weight(bias_);
  linear_forward(c, call);
  const OpScope scope = c.op(op::relu);
  if (shape_.has_relu)
    c.kernels().activation_forward(c.stream, {.kind = ActivationKind::relu,
                                              .rows = shape_.rows,
                                              .width = shape_.out,
                                              .x = pre_.view(),
                                              .bias = parameters.weight(bias_),
                                              .y = y});
  else
    c.device.copy(c.stream, y.data, pre_.data(), pre_.bytes());
}

void DenseLayer::backward(const LayerContext& c, const Parameters& parameters, View x, View dy,
                          View dx, GradientSink* sink) const {
  {
    const OpScope scope = c.op(op::relu);
    if (shape_.has_relu)
      c.kernels().activation_backward(c.stream, {.kind = ActivationKind::relu,
                                                 .rows = shape_.rows,
                                                 .width = shape_.out,
                                                 .x = pre_.view(),
                                                 .bias = parameters.weight(bias_),
                                                 .dy = dy,
                                                 .dx = dpre_.view()});
    else
      c.device.copy(c.stream, dpre_.data(), dy.data, dpre_.bytes());
  }
  {
    const OpScope scope = c.op(op::relu);
    c.kernels().column_sum(c.stream, dpre_.view(), parameters.gradient(bias_), shape_.rows,
                           shape_.out);
  }
  LinearCall call = linear(parameters, x);
  if (shape_.needs_input_grad) call.dx = dx;
  linear_backward(c, call);
  if (sink != nullptr) sink->ready_from(offset(parameters));
}
}  // namespace stepcast::runtime
