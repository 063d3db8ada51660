#include <cmath>

#include "sim/timeline/op_names.hpp"
#include "sim/workload/layer_builder.hpp"
#include "sim/workload/op_makers.hpp"
#include "sim/workload/other_models.hpp"

namespace stepcast {

std::vector<CustomLayer> read_custom(ObjectReader& reader) {
  std::vector<CustomLayer> layers;
  for (ObjectReader& item : reader.objects("layers")) {
    CustomLayer layer;
    layer.name = item.text("name", "layer" + std::to_string(layers.size()));
    layer.forward_flops_per_sample = item.number("forward_flops_per_sample", {.fallback = 0});
    layer.bytes_per_sample = item.number("bytes_per_sample", {.fallback = 0});
    layer.activation_bytes_per_sample = item.number("activation_bytes_per_sample", {.fallback = 0});
    layer.parameters = item.integer("parameters", {.fallback = 0});
    const std::int64_t repeat = item.integer("repeat", {.fallback = 1, .min = 1, .max = 1 << 16});
    if (layer.forward_flops_per_sample == 0 && layer.bytes_per_sample == 0)
      item.problem("", "has neither forward_flops_per_sample nor bytes_per_sample");
    item.done();
    for (std::int64_t i = 0; i < repeat; ++i) layers.push_back(layer);
  }
  if (layers.empty())
    reader.problem("layers", "has no entry; kind \"custom\" needs at least one layer");
  return layers;
}

namespace {
/// A GEMM of m = samples rows and k = n that has the stated flops: the shape only says how large
/// the product is.
Op product_op(const CustomLayer& layer, Pass pass, Precision precision, std::int64_t samples) {
  const double width = std::max(1.0, std::sqrt(layer.forward_flops_per_sample / 2));
  const auto side = static_cast<std::int64_t>(std::llround(width));
  Op op = gemm_op(op::custom, pass, precision, {.m = samples, .n = side, .k = side});
  op.flops = Flops(layer.forward_flops_per_sample * static_cast<double>(samples));
  return op;
}

LayerWork custom_layer(const CustomLayer& layer, const Shard& shard) {
  LayerBuilder builder(layer.name, shard);
  const auto bytes_of = [&](double per_sample) {
    return std::llround(per_sample * static_cast<double>(shard.batch));
  };
  const std::int64_t moved = bytes_of(layer.bytes_per_sample);
  LayerPiece piece;
  piece.kept = bytes_of(layer.activation_bytes_per_sample);
  if (layer.forward_flops_per_sample > 0) {
    piece.forward.push_back(
        product_op(layer, Pass::forward, shard.training.precision, shard.batch));
    piece.backward.push_back(
        product_op(layer, Pass::backward_data, shard.training.precision, shard.batch));
    if (layer.parameters > 0)
      piece.backward.push_back(
          product_op(layer, Pass::backward_weight, shard.training.precision, shard.batch));
  }
  if (moved > 0) {  // stated traffic: two thirds read, as for a sum of two tensors; the backward
                    // moves it twice
    piece.forward.push_back(stream_op(op::custom, Pass::forward, StreamKind::elementwise,
                                      moved * 2 / 3, moved - moved * 2 / 3, 1, 1));
    piece.backward.push_back(stream_op(op::custom, Pass::backward_data, StreamKind::elementwise,
                                       moved * 4 / 3, 2 * moved - moved * 4 / 3, 2, 2));
  }
  builder.add(piece);
  builder.add_dense_parameters(layer.parameters);
  const std::int64_t handed = piece.kept;
  return builder.finish(
      handed, handed,
      shard.training.recompute == Recompute::full ? Recompute::full : Recompute::none);
}
}  // namespace

ModelWork custom_work(const std::vector<CustomLayer>& layers, const Shard& shard) {
  ModelWork work;
  for (const CustomLayer& layer : layers) {
    work.blocks.push_back(static_cast<int>(work.kinds.size()));
    work.kinds.push_back(custom_layer(layer, shard));
  }
  return work;
}
}  // namespace stepcast
