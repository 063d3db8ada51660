#include "sim/timeline/op_names.hpp"
#include "sim/workload/linear_ops.hpp"
#include "sim/workload/op_makers.hpp"
#include "sim/workload/other_models.hpp"
#include "sim/workload/stream_ops.hpp"

namespace stepcast {
namespace {
ConvShape shape_of(const ConvLayer& l, std::int64_t images) {
  return {images, l.c_in, l.h, l.w, l.c_out, l.kernel, l.stride, l.groups, l.kernel_w};
}
std::int64_t positions(const ConvLayer& l) {
  return conv_output(l.h, l.stride) * conv_output(l.w, l.stride);
}

std::int64_t conv_parameters(const ConvLayer& l) {
  const std::int64_t kernel = l.kernel * (l.kernel_w > 0 ? l.kernel_w : l.kernel);
  const std::int64_t excite =
      l.squeeze_excite ? 2 * l.c_out * l.squeeze_width + l.squeeze_width + l.c_out : 0;
  return l.c_out * (l.c_in / l.groups) * kernel + (l.batch_norm ? 2 : 1) * l.c_out + excite;
}

/// Batch norm (or bias), residual sum and activation behind a convolution. n = elements of its
/// output.
LayerPiece pointwise_piece(const ConvLayer& l, const Shard& shard, std::int64_t n) {
  const std::int64_t b = n * shard.element(), residual = l.residual_add ? b : 0;
  const bool eager = shard.is_eager();
  LayerPiece piece;
  // Training statistics need one pass before the pass that normalises. The backward needs dy and x
  // for the two sums, and both again for dx. Fused kernels (cuDNN, NHWC) take sum and activation
  // along; eager ones run them apart.
  const StreamKind kind = l.batch_norm ? StreamKind::batch_norm : StreamKind::elementwise;
  std::int64_t read = l.batch_norm ? 2 * b : b, written = b, read_back = l.batch_norm ? 4 * b : b,
               written_back = l.batch_norm ? b : 0;
  int launches = 1, launches_back = l.batch_norm ? 1 : 2;
  if (eager) {
    if (l.activation)
      read += b, written += b, read_back += 2 * b, written_back += b, ++launches, ++launches_back;
    if (l.residual_add) read += 2 * b, written += b, ++launches;
  } else {
    read += residual;
    if (l.activation && l.residual_add)
      written_back += b;  // the masked gradient also goes to the shortcut
  }
  piece.forward.push_back(
      stream_op(op::batch_norm, Pass::forward, kind, read, written, launches, 1));
  piece.backward.push_back(stream_op(op::batch_norm, Pass::backward_data, kind, read_back,
                                     written_back, launches_back, 1));
  if (l.residual_add)  // gradients of both paths meet at the block's input
    piece.backward.push_back(
        stream_op(op::residual_grad, Pass::backward_data, StreamKind::elementwise, 2 * b, b, 1, 1));
  piece.kept =
      l.batch_norm
          ? b
          : 0;  // the convolution's output; what the activation gives is kept by the next layer

  if (l.squeeze_excite) {
    // Mean over positions, two small products, scale. Backward: gradient of the scale reads x and
    // dy, dx reads dy again.
    const std::int64_t pixels = n / l.c_out, images = shard.batch;
    piece.forward.push_back(stream_op(op::squeeze, Pass::forward, StreamKind::reduction, b,
                                      b / std::max<std::int64_t>(pixels / images, 1), 1, 1));
    piece.forward.push_back(gemm_op(op::excite, Pass::forward, shard.training.precision,
                                    {images, l.squeeze_width, l.c_out}));
    piece.forward.push_back(gemm_op(op::excite, Pass::forward, shard.training.precision,
                                    {images, l.c_out, l.squeeze_width}));
    piece.forward.push_back(
        stream_op(op::excite, Pass::forward, StreamKind::elementwise, b, b, 3, 1));
    std::vector<Op> back{
        stream_op(op::excite, Pass::backward_data, StreamKind::elementwise, 3 * b, b, 4, 2)};
    for (const auto& [out, in] :
         {std::pair(l.c_out, l.squeeze_width), std::pair(l.squeeze_width, l.c_out)}) {
      back.push_back(
          gemm_op(op::excite, Pass::backward_data, shard.training.precision, {images, in, out}));
      back.push_back(
          gemm_op(op::excite, Pass::backward_weight, shard.training.precision, {out, in, images}));
    }
    piece.backward.insert(piece.backward.begin(), back.begin(), back.end());
    piece.kept += b;
  }
  return piece;
}

LayerWork conv_layer(const ConvLayer& l, const Shard& shard, bool is_first) {
  LayerBuilder builder(l.name, shard);
  const std::int64_t images = shard.batch, e = shard.element();
  const std::int64_t input = images * l.c_in * l.h * l.w * e, n = images * l.c_out * positions(l);
  const ConvShape shape = shape_of(l, images);

  LayerPiece convolution;
  convolution.forward = {conv_op(op::conv, Pass::forward, shard.training.precision, shape)};
  if (!is_first)
    convolution.backward.push_back(
        conv_op(op::conv, Pass::backward_data, shard.training.precision, shape));
  convolution.backward.push_back(
      conv_op(op::conv, Pass::backward_weight, shard.training.precision, shape));
  convolution.kept = input;
  builder.add(convolution);
  builder.add(pointwise_piece(l, shard, n));
  std::int64_t output = n * e;
  if (l.pool > 1) {
    const std::int64_t pooled = images * l.c_out * conv_output(conv_output(l.h, l.stride), l.pool) *
                                conv_output(conv_output(l.w, l.stride), l.pool) * e;
    LayerPiece pool;
    pool.forward = {
        stream_op(op::pool, Pass::forward, StreamKind::reduction, output, pooled, 1, 1)};
    pool.backward = {stream_op(op::pool, Pass::backward_data, StreamKind::elementwise, 2 * pooled,
                               output, 1, 1)};
    pool.kept = output;
    builder.add(pool);
    output = pooled;
  }
  builder.add_dense_parameters(conv_parameters(l));
  builder.note_temporary(2 * n * e);  // gradients before and after the batch norm
  return builder.finish(
      input, output,
      shard.training.recompute == Recompute::full ? Recompute::full : Recompute::none);
}

std::vector<std::int64_t> classifier_widths(const CnnSpec& model) {
  std::vector<std::int64_t> widths{model.features};
  widths.insert(widths.end(), model.hidden_fc.begin(), model.hidden_fc.end());
  widths.push_back(model.classes);
  return widths;
}

LayerWork classifier(const CnnSpec& model, const Shard& shard) {
  LayerBuilder builder("classifier", shard);
  const ConvLayer& last = model.layers.back();
  const std::int64_t images = shard.batch, e = shard.element(),
                     image = last.c_out * positions(last) / (last.pool * last.pool) * e;
  LayerPiece pool;
  pool.forward = {stream_op(op::pool, Pass::forward, StreamKind::reduction, images * image,
                            images * model.features * e, 1, 1)};
  pool.backward = {stream_op(op::pool, Pass::backward_data, StreamKind::elementwise,
                             images * model.features * e, images * image, 1, 1)};
  builder.add(pool);
  const std::vector<std::int64_t> widths = classifier_widths(model);
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    builder.add(linear_piece(
        shard, {.name = op::fc, .rows = images, .out = widths[i + 1], .in = widths[i]}));
    if (i + 2 < widths.size())
      builder.add(activation_piece(shard, op::relu, images, widths[i + 1], false, true));
    builder.add_dense_parameters(widths[i + 1] * (widths[i] + 1));
  }
  const std::int64_t logits = images * model.classes * 4;
  LayerPiece loss;
  loss.forward = {stream_op(op::loss, Pass::forward, StreamKind::loss, 2 * logits, logits, 2, 1)};
  loss.backward = {
      stream_op(op::loss, Pass::backward_data, StreamKind::loss, logits, logits, 2, 1)};
  loss.kept = logits;
  builder.add(loss);
  LayerWork work = builder.finish(images * image, 0, Recompute::none);
  work.counts_as_block = false;
  return work;
}
}  // namespace

ModelWork cnn_work(const CnnSpec& model, const Shard& shard) {
  ModelWork work;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    work.blocks.push_back(static_cast<int>(i));
    work.kinds.push_back(conv_layer(model.layers[i], shard, i == 0));
  }
  work.after = {static_cast<int>(work.kinds.size())};
  work.kinds.push_back(classifier(model, shard));
  return work;
}

double cnn_forward_flops(const CnnSpec& model) {
  double flops = 0;
  for (const ConvLayer& l : model.layers) {
    flops += conv_op(op::conv, Pass::forward, Precision::fp32, shape_of(l, 1)).flops.value;
    if (l.squeeze_excite) flops += 4.0 * static_cast<double>(l.c_out * l.squeeze_width);
  }
  const std::vector<std::int64_t> widths = classifier_widths(model);
  for (std::size_t i = 0; i + 1 < widths.size(); ++i)
    flops += 2.0 * static_cast<double>(widths[i] * widths[i + 1]);
  return flops;
}

std::int64_t cnn_parameters(const CnnSpec& model) {
  std::int64_t total = 0;
  for (const ConvLayer& layer : model.layers) total += conv_parameters(layer);
  const std::vector<std::int64_t> widths = classifier_widths(model);
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) total += widths[i + 1] * (widths[i] + 1);
  return total;
}
}  // namespace stepcast
