#include "runtime/model/conv_net.hpp"

#include <algorithm>

#include "runtime/model/conv_stage.hpp"
#include "runtime/model/dense_layer.hpp"
#include "sim/core/assert.hpp"
#include "sim/timeline/op_names.hpp"
#include "sim/workload/memory_model.hpp"

namespace stepcast::runtime {
namespace {

class ConvNet final : public Model {
 public:
  ConvNet(Device& device, const CnnSpec& model, const TrainingSpec& training, int micro_batches)
      : model_(model), images_(training.micro_batch) {
    Problems problems;
    const std::vector<ConvNode> nodes = conv_topology(model_, problems);
    STEPCAST_ASSERT(problems.empty(), "check_conv_net refused what does not fit together");
    const Precision p = training.precision;
    std::int64_t largest_output = 0, largest_input = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      stages_.push_back(
          new_conv_stage(device, parameters_, images_, model_.layers[i], nodes[i], p));
      const ConvShape& s = stages_.back().shape;
      largest_output = std::max(largest_output, stages_.back().elements());
      largest_input = std::max(largest_input, s.n * s.h * s.w * s.c_in);
    }
    std::int64_t in = model_.features;
    for (const std::int64_t out : model_.hidden_fc) {
      hidden_.emplace_back(device, parameters_, "fc" + std::to_string(hidden_.size()),
                           DenseLayer::Shape{.name = op::fc, .rows = images_, .in = in, .out = out},
                           p);
      features_.emplace_back(device, images_ * in, p);
      dfeatures_.emplace_back(device, images_ * in, p);
      in = out;
    }
    features_.emplace_back(device, images_ * in, p);
    dfeatures_.emplace_back(device, images_ * in, p);
    fc_weight_ = parameters_.add({.name = "classifier.weight",
                                  .rows = model_.classes,
                                  .columns = in,
                                  .deviation = 0.01});  // ResNet's; logits start near 0
    fc_bias_ = parameters_.add({.name = "classifier.bias", .columns = model_.classes});
    logits_ = Buffer(device, images_ * model_.classes, p);
    losses_ = Buffer(device, images_ * micro_batches, Precision::fp32);
    dy_ = Buffer(device, largest_output, p);
    draw_ = Buffer(device, largest_output, p);
    dx_ = Buffer(device, largest_input, p);
  }

  Parameters& parameters() override { return parameters_; }
  std::vector<std::int64_t> ready_offsets() const override {
    std::vector<std::int64_t> offsets{offset(fc_weight_)};
    for (auto layer = hidden_.rbegin(); layer != hidden_.rend(); ++layer)
      offsets.push_back(layer->offset(parameters_));
    for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage)
      offsets.push_back(offset(stage->filter));
    return offsets;
  }
  View losses(int micro_batch) const override { return losses_.view(micro_batch * images_); }
  std::int64_t loss_rows() const override { return images_; }

  void forward(const LayerContext& c, const MicroBatch& batch, const StageTensors&) override {
    for (ConvStage& stage : stages_) stage_forward(c, batch, stage);
    pool_features(c);
    for (std::size_t i = 0; i < hidden_.size(); ++i)
      hidden_[i].forward(c, parameters_, features_[i].view(), features_[i + 1].view());
    linear_forward(c, classifier());
    const OpScope scope = c.op(op::loss);
    c.kernels().loss_forward(c.stream, logits_.view(), batch.targets, losses(batch.index), images_,
                             model_.classes, model_.classes);
  }

  void backward(const LayerContext& c, const MicroBatch& batch, const StageTensors&,
                float loss_scale, GradientSink* sink) override {
    {
      const OpScope scope = c.op(op::loss);
      c.kernels().loss_backward(c.stream, logits_.view(), batch.targets,
                                loss_scale / static_cast<float>(images_), images_, model_.classes);
    }
    linear_backward(c, classifier());
    if (sink != nullptr) sink->ready_from(offset(fc_weight_));
    for (std::size_t i = hidden_.size(); i-- > 0;)
      hidden_[i].backward(c, parameters_, features_[i].view(), dfeatures_[i + 1].view(),
                          dfeatures_[i].view(), sink);
    has_gradient_.assign(stages_.size(), false);
    spread_features(c);
    for (std::size_t i = stages_.size(); i-- > 0;) stage_backward(c, batch, stages_[i], sink);
  }

 private:
  std::int64_t offset(std::size_t parameter) const { return parameters_.list()[parameter].offset; }

  View tensor(const MicroBatch& batch, int index) const {
    return index == ConvNode::kImage ? batch.dense
                                     : stages_[static_cast<std::size_t>(index)].output();
  }
  void stage_forward(const LayerContext& c, const MicroBatch& batch, const ConvStage& s) const {
    {
      const OpScope scope = c.op(op::conv);
      c.kernels().conv_forward(c.stream, convolution(s, parameters_, tensor(batch, s.at.input)));
    }
    {
      const OpScope scope = c.op(op::batch_norm);
      const std::int64_t channels = s.layer.c_out;
      if (s.layer.batch_norm) c.kernels().batch_norm_forward(c.stream, batch_norm(s, parameters_));
      if (s.at.skip != ConvNode::kNone)
        c.kernels().add(c.stream, s.y.view(), tensor(batch, s.at.skip), {}, s.y.view(), s.rows,
                        channels);
      if (s.layer.activation)
        c.kernels().activation_forward(
            c.stream, {.kind = ActivationKind::relu,
                       .rows = s.rows,
                       .width = channels,
                       .x = s.layer.batch_norm ? s.y.view() : s.raw.view(),
                       .bias = s.layer.batch_norm ? View{} : parameters_.weight(s.bias),
                       .y = s.y.view()});
    }
    if (s.layer.pool == 1) return;
    const OpScope scope = c.op(op::pool);
    c.kernels().pool_forward(c.stream, pool(s));
  }

  /// dy_ holds the gradient of what the batch norm gave, draw_ that of the convolution. Without a
  /// batch norm they are the same, in draw_; such a stage has an activation (conv_topology).
  void stage_backward(const LayerContext& c, const MicroBatch& batch, const ConvStage& s,
                      GradientSink* sink) {
    const std::int64_t channels = s.layer.c_out;
    const View behind_activation = s.layer.batch_norm ? dy_.view() : draw_.view();
    View incoming = s.gradient.view();
    if (s.layer.pool > 1) {
      const OpScope scope = c.op(op::pool);
      PoolCall call = pool(s);
      call.dx = dy_.view();
      c.kernels().pool_backward(c.stream, call);
      incoming = dy_.view();
    }
    {
      const OpScope scope = c.op(op::batch_norm);
      // Where relu let nothing through its result is 0, so the result tells as well as its input.
      if (s.layer.activation)
        c.kernels().activation_backward(c.stream, {.kind = ActivationKind::relu,
                                                   .rows = s.rows,
                                                   .width = channels,
                                                   .x = s.y.view(),
                                                   .dy = incoming,
                                                   .dx = behind_activation});
      else if (incoming.data != dy_.data())
        c.device.copy(c.stream, dy_.data(), incoming.data,
                      Bytes(s.elements() * bytes_per_element(incoming.precision)));
      if (s.layer.batch_norm) {
        BatchNormCall call = batch_norm(s, parameters_);
        call.dy = dy_.view();
        call.dx = draw_.view();
        c.kernels().batch_norm_backward(c.stream, call);
      } else {
        c.kernels().column_sum(c.stream, draw_.view(), parameters_.gradient(s.bias), s.rows,
                               channels);
      }
    }
    if (s.layer.residual_add) {
      const OpScope scope = c.op(op::residual_grad);
      give(c, s.at.skip, dy_.view());
    }
    conv_backward(c, batch, s);
    if (sink != nullptr) sink->ready_from(offset(s.filter));
  }
  void conv_backward(const LayerContext& c, const MicroBatch& batch, const ConvStage& s) {
    ConvCall call = convolution(s, parameters_, tensor(batch, s.at.input));
    call.dy = draw_.view();
    if (s.at.input != ConvNode::kImage) {
      const OpScope scope = c.op(op::conv);
      const auto input = static_cast<std::size_t>(s.at.input);
      const bool is_first = !has_gradient_[input];
      call.dx = is_first ? stages_[input].gradient.view() : dx_.view();
      c.kernels().conv_backward_data(c.stream, call);
      if (is_first)
        has_gradient_[input] = true;
      else
        give(c, s.at.input, dx_.view());
    }
    const OpScope scope = c.op(op::conv);
    c.kernels().conv_backward_weight(c.stream, call);
  }
  /// A tensor that two layers read gets the sum of both gradients.
  void give(const LayerContext& c, int tensor, View gradient) {
    const auto index = static_cast<std::size_t>(tensor);
    const ConvStage& s = stages_[index];
    const View sum = s.gradient.view();
    if (has_gradient_[index])
      c.kernels().add(c.stream, sum, gradient, {}, sum, s.pooled_elements() / s.layer.c_out,
                      s.layer.c_out);
    else
      c.device.copy(c.stream, sum.data, gradient.data, s.gradient.bytes());
    has_gradient_[index] = true;
  }

  /// From the last layer's output to the classifier's features: their mean over positions, or all
  /// of them.
  PoolCall mean_over_positions() const {
    const ConvStage& last = stages_.back();
    return {.is_global_average = true,
            .n = images_,
            .h = last.out.pooled_h,
            .w = last.out.pooled_w,
            .channels = last.layer.c_out,
            .x = last.output(),
            .y = features_.front().view(),
            .dy = dfeatures_.front().view(),
            .dx = last.gradient.view()};
  }
  bool sees_positions() const { return model_.features != stages_.back().layer.c_out; }
  void pool_features(const LayerContext& c) const {
    const OpScope scope = c.op(op::pool);
    if (sees_positions())
      c.device.copy(c.stream, features_.front().data(), stages_.back().output().data,
                    features_.front().bytes());
    else
      c.kernels().pool_forward(c.stream, mean_over_positions());
  }
  void spread_features(const LayerContext& c) {
    const OpScope scope = c.op(op::pool);
    has_gradient_.back() = true;
    if (sees_positions())
      c.device.copy(c.stream, stages_.back().gradient.data(), dfeatures_.front().data(),
                    dfeatures_.front().bytes());
    else
      c.kernels().pool_backward(c.stream, mean_over_positions());
  }
  LinearCall classifier() const {
    return {.name = op::fc,
            .rows = images_,
            .out = model_.classes,
            .in = parameters_.list()[fc_weight_].columns,
            .x = features_.back().view(),
            .weight = parameters_.weight(fc_weight_),
            .bias = parameters_.weight(fc_bias_),
            .y = logits_.view(),
            .dy = logits_.view(),
            .dx = dfeatures_.back().view(),
            .dweight = parameters_.gradient(fc_weight_),
            .dbias = parameters_.gradient(fc_bias_)};
  }

  CnnSpec model_;
  std::int64_t images_;
  Parameters parameters_;
  std::vector<ConvStage> stages_;
  std::vector<DenseLayer> hidden_;
  std::vector<Buffer> features_, dfeatures_;  // inputs of the fully connected layers
  std::size_t fc_weight_ = 0, fc_bias_ = 0;
  Buffer logits_, losses_;          // (B, classes), (micro-batches, B)
  Buffer dy_, draw_, dx_;           // gradients of the stage at hand
  std::vector<bool> has_gradient_;  // of a stage's output, in this backward
};
}  // namespace

void check_conv_net(const ModelSpec& model, const TrainingSpec& training,
                    const ParallelLayout& layout, Problems& problems) {
  const auto refuse = [&](const char* place, const char* message, const char* hint) {
    problems.add({"training step", place, message, hint});
  };
  conv_topology(model.cnn, problems);
  const std::int64_t last = model.cnn.layers.back().c_out;
  const ConvExtent extent = extent_of(model.cnn.layers.back());
  if (model.cnn.features != last && model.cnn.features != last * extent.pooled_h * extent.pooled_w)
    refuse("/model/features", "is not what the last layer gives",
           "its channels, or its channels times its positions with flatten");
  if (layout.tp > 1 || layout.pp > 1)
    refuse("/parallel", "asks for tensor or pipeline parallelism", "networks of convolutions: dp");
  if (layout.schedule == ScheduleKind::gpipe && micro_batch_count(layout, training) > 1)
    refuse("/parallel/schedule", "keeps several micro-batches at once", "1f1b");
  if (training.recompute != Recompute::none)
    refuse("/training/recompute", "is not none", "the runtime keeps what convolutions give");
}

std::unique_ptr<Model> new_conv_net(Device& device, const CnnSpec& model,
                                    const TrainingSpec& training, int micro_batches) {
  return std::make_unique<ConvNet>(device, model, training, micro_batches);
}
}  // namespace stepcast::runtime
