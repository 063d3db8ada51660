#pragma once
#include "runtime/layers/layer_context.hpp"
#include "runtime/model/parameters.hpp"

namespace stepcast::runtime {

/// Inputs of one micro-batch on the device. Transformer: ids and targets (B, T) int32. Images:
/// pixels (B, H, W, 3), targets (B). Recommender: dense (B, features), indices (tables, B, pooling)
/// int32, targets (B) fp32 in {-1, 1}.
struct MicroBatch {
  int index = 0;
  View ids, targets, dense;
};
/// What passes between pipeline stages: activations in and out, their gradients back. Empty on the
/// first and last stage.
struct StageTensors {
  View input, output, output_gradient, input_gradient;
};

/// A model, or one pipeline stage of it, whose forward and backward enqueue the simulator's ops in
/// the simulator's order.
class Model {
 public:
  virtual ~Model() = default;
  virtual Parameters& parameters() = 0;
  /// The offsets that backward() will report to its sink, in that order; the last is 0.
  virtual std::vector<std::int64_t> ready_offsets() const = 0;
  /// Elements of the activation that crosses a stage boundary; 0 for models that have no stages.
  virtual std::int64_t boundary_elements() const { return 0; }
  virtual void forward(const LayerContext& context, const MicroBatch& batch,
                       const StageTensors& stage) = 0;
  /// Adds to the gradients. `loss_scale` multiplies the gradient of the mean loss of one
  /// micro-batch: 1 / (micro-batches * dp).
  virtual void backward(const LayerContext& context, const MicroBatch& batch,
                        const StageTensors& stage, float loss_scale, GradientSink* sink) = 0;
  /// Losses of a micro-batch's last forward, one per row; their mean is its loss. Empty on stages
  /// without a head.
  virtual View losses(int micro_batch) const = 0;
  virtual std::int64_t loss_rows() const = 0;
  /// Embedding tables that only this rank holds and that the backward updates, one after another;
  /// empty for most models.
  virtual View local_tables() const { return {}; }
  virtual std::int64_t local_table_elements() const { return 0; }
};
}  // namespace stepcast::runtime
