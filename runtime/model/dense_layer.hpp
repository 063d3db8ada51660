#pragma once
#include "runtime/layers/linear.hpp"
#include "runtime/model/parameters.hpp"

namespace stepcast::runtime {
/// A fully connected layer with bias and relu, as classifiers and recommenders stack them: the
/// simulator's linear and activation pieces.
///   forward   pre = x W^T (op `name`);  y = relu(pre + b) (op relu)
///   backward  dpre = dy where y > 0 (op relu);  db += column sums (op relu);  dx = dpre W, dW +=
///   dpre^T x (op `name` each)
class DenseLayer {
 public:
  struct Shape {
    std::string_view name;  // of its two products' ops
    std::int64_t rows = 0, in = 0, out = 0;
    bool has_relu = true;          // false: y = pre + b, the last layer before a loss
    bool needs_input_grad = true;  // false: x is data
  };
  /// Adds `prefix`.weight and `prefix`.bias to the arena.
  DenseLayer(Device& device, Parameters& parameters, const std::string& prefix, const Shape& shape,
             Precision precision);

  void forward(const LayerContext& context, const Parameters& parameters, View x, View y) const;
  /// `x` as in the forward. dx is written where the input wants a gradient, else it may be empty.
  void backward(const LayerContext& context, const Parameters& parameters, View x, View dy, View dx,
                GradientSink* sink) const;

  const Shape& shape() const { return shape_; }
  /// Where its gradients begin in the arena: what backward() reports.
  std::int64_t offset(const Parameters& parameters) const {
    return parameters.list()[weight_].offset;
  }

 private:
  LinearCall linear(const Parameters& parameters, View x) const;
  Shape shape_;
  std::size_t weight_, bias_;
  Buffer pre_, dpre_;  // (rows, out)
};
}  // namespace stepcast::runtime
