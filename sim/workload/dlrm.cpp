#include <fmt/format.h>

#include <cmath>

#include "sim/timeline/op_names.hpp"
#include "sim/workload/linear_ops.hpp"
#include "sim/workload/op_makers.hpp"
#include "sim/workload/other_models.hpp"
#include "sim/workload/stream_ops.hpp"

namespace stepcast {

DlrmSpec read_dlrm(ObjectReader& reader) {
  DlrmSpec model;
  constexpr std::int64_t kMaxWidth = 1 << 20;
  model.tables = reader.integer("tables", {.fallback = model.tables, .min = 1, .max = 1 << 16});
  model.rows_per_table = reader.integer(
      "rows_per_table", {.fallback = model.rows_per_table, .min = 1, .max = std::int64_t{1} << 40});
  model.embedding_dim = reader.integer(
      "embedding_dim", {.fallback = model.embedding_dim, .min = 1, .max = kMaxWidth});
  model.dense_features = reader.integer(
      "dense_features", {.fallback = model.dense_features, .min = 1, .max = kMaxWidth});
  model.pooling = reader.number("pooling", {.fallback = 1, .min = 0.01, .max = 1e6});
  model.bottom_mlp = reader.integers("bottom_mlp", {.min = 1, .max = kMaxWidth});
  model.top_mlp = reader.integers("top_mlp", {.min = 1, .max = kMaxWidth});
  model.cross_layers = reader.integer("cross_layers", {.fallback = 0, .min = 0, .max = 64});
  model.cross_rank =
      reader.integer("cross_rank", {.fallback = model.cross_rank, .min = 1, .max = kMaxWidth});
  if (model.bottom_mlp.empty())
    reader.problem("bottom_mlp", "has no entry; the widths of its layers are expected");
  else if (model.bottom_mlp.back() != model.embedding_dim)
    reader.problem("bottom_mlp", fmt::format("ends in {}, expected embedding_dim ({})",
                                             model.bottom_mlp.back(), model.embedding_dim));
  if (model.top_mlp.empty())
    reader.problem("top_mlp", "has no entry; the widths of its layers are expected");
  return model;
}

namespace {
std::int64_t vectors(const DlrmSpec& m) {
  return m.tables + 1;
}  // one per table and the bottom MLP's
std::int64_t interaction_width(const DlrmSpec& m) {
  if (m.cross_layers > 0) return vectors(m) * m.embedding_dim;
  return m.embedding_dim + vectors(m) * (vectors(m) - 1) / 2;
}

LayerWork mlp(const char* name, std::string_view op_name, std::int64_t in,
              const std::vector<std::int64_t>& widths, const Shard& shard, bool needs_input_grad,
              bool has_loss) {
  LayerBuilder builder(name, shard);
  for (std::size_t i = 0; i < widths.size(); ++i) {
    builder.add(linear_piece(shard, {.name = op_name,
                                     .rows = shard.batch,
                                     .out = widths[i],
                                     .in = in,
                                     .needs_input_grad = needs_input_grad || i > 0}));
    builder.add(activation_piece(shard, op::relu, shard.batch, widths[i], false, true));
    builder.add_dense_parameters(widths[i] * (in + 1));
    in = widths[i];
  }
  if (has_loss) {
    LayerPiece loss;
    const std::int64_t bytes = shard.batch * 4;
    loss.forward = {stream_op(op::loss, Pass::forward, StreamKind::loss, 2 * bytes, bytes, 3, 1)};
    loss.backward = {
        stream_op(op::loss, Pass::backward_data, StreamKind::loss, 2 * bytes, bytes, 2, 1)};
    builder.add(loss);
  }
  LayerWork work = builder.finish(0, shard.batch * in * shard.element(), Recompute::none);
  work.counts_as_block = false;
  return work;
}

/// Tables are dealt out over all ranks, so that each looks up its tables for everybody's samples;
/// on average one rank's share of lookups is that of its own micro-batch.
LayerWork embedding_bags(const DlrmSpec& m, const Shard& shard) {
  LayerBuilder builder("embedding_bags", shard);
  const std::int64_t ranks = shard.layout.world(), e = shard.element(), b = shard.batch;
  const auto lookups = std::llround(static_cast<double>(b * m.tables) * m.pooling);
  const std::int64_t pooled = b * m.tables * m.embedding_dim,
                     rows = lookups * m.embedding_dim * 4;  // fp32 tables
  LayerPiece bags;
  if (ranks > 1)
    bags.forward.push_back(collective_op(op::dispatch, Pass::forward, Collective::all_to_all,
                                         GroupKind::world, lookups * 8));
  bags.forward.push_back(stream_op(op::embedding_bag, Pass::forward, StreamKind::embedding,
                                   rows + lookups * 8, pooled * e, static_cast<int>(m.tables), 1));
  if (ranks > 1) {
    bags.forward.push_back(collective_op(op::combine, Pass::forward, Collective::all_to_all,
                                         GroupKind::world, pooled * e));
    bags.backward.push_back(collective_op(op::combine, Pass::backward_data, Collective::all_to_all,
                                          GroupKind::world, pooled * e));
  }
  // The update is part of the backward: indices are sorted, then every touched row is read, moved
  // and written (row-wise AdaGrad, one state value per row).
  bags.backward.push_back(stream_op(op::table_update, Pass::backward_weight, StreamKind::embedding,
                                    pooled * e + rows + lookups * 8 * 4, rows + lookups * 8 * 3,
                                    static_cast<int>(3 * m.tables), 4));
  bags.kept = lookups * 8;
  builder.add(bags);
  LayerWork work = builder.finish(0, pooled * e, Recompute::none);
  work.local_parameters = (m.tables * m.rows_per_table + ranks - 1) / ranks * (m.embedding_dim + 1);
  work.counts_as_block = false;
  return work;
}

LayerWork interaction(const DlrmSpec& m, const Shard& shard) {
  LayerBuilder builder("interaction", shard);
  const std::int64_t b = shard.batch, e = shard.element(), f = vectors(m), d = m.embedding_dim;
  const std::int64_t input = b * f * d * e, output = b * interaction_width(m) * e;
  LayerPiece join;
  join.forward = {stream_op(op::interaction, Pass::forward, StreamKind::copy, input, input, 1, 1)};
  join.backward = {
      stream_op(op::interaction, Pass::backward_data, StreamKind::copy, input, input, 1, 1)};
  join.kept = input;
  builder.add(join);
  if (m.cross_layers == 0) {
    // Dot products of all pairs; the lower triangle goes on together with the dense vector.
    LayerPiece dots;
    const std::int64_t square = b * f * f * e;
    dots.forward = {gemm_op(op::interaction, Pass::forward, shard.training.precision, {f, f, d, b}),
                    stream_op(op::interaction, Pass::forward, StreamKind::copy, square + b * d * e,
                              output, 3, 1)};
    dots.backward = {
        stream_op(op::interaction, Pass::backward_data, StreamKind::copy, output, square, 3, 1),
        gemm_op(op::interaction, Pass::backward_data, shard.training.precision, {f, d, f, b}),
        gemm_op(op::interaction, Pass::backward_data, shard.training.precision, {f, d, f, b})};
    builder.add(dots);
  }
  for (std::int64_t layer = 0; layer < m.cross_layers; ++layer) {
    // x <- x0 * (U V x + bias) + x, with U and V of cross_rank (Wang 2021).
    const std::int64_t width = f * d;
    builder.add(linear_piece(
        shard, {.name = op::interaction, .rows = b, .out = m.cross_rank, .in = width}));
    builder.add(linear_piece(
        shard, {.name = op::interaction, .rows = b, .out = width, .in = m.cross_rank}));
    LayerPiece product;
    product.forward = {
        stream_op(op::interaction, Pass::forward, StreamKind::elementwise, 3 * input, input, 3, 1)};
    product.backward = {stream_op(op::interaction, Pass::backward_data, StreamKind::elementwise,
                                  4 * input, 2 * input, 4, 2)};
    product.kept = input;
    builder.add(product);
    builder.add_dense_parameters(2 * width * m.cross_rank + width);
  }
  return builder.finish(input, output, Recompute::none);
}

double mlp_flops(std::int64_t in, const std::vector<std::int64_t>& widths) {
  double flops = 0;
  for (const std::int64_t width : widths) {
    flops += 2.0 * static_cast<double>(in * width);
    in = width;
  }
  return flops;
}
std::int64_t mlp_parameters(std::int64_t in, const std::vector<std::int64_t>& widths) {
  std::int64_t total = 0;
  for (const std::int64_t width : widths) {
    total += width * (in + 1);
    in = width;
  }
  return total;
}
}  // namespace

ModelWork dlrm_work(const DlrmSpec& m, const Shard& shard) {
  ModelWork work;
  work.kinds.push_back(
      mlp("bottom_mlp", op::bottom_mlp, m.dense_features, m.bottom_mlp, shard, false, false));
  work.kinds.push_back(embedding_bags(m, shard));
  work.kinds.push_back(interaction(m, shard));
  work.kinds.push_back(
      mlp("top_mlp", op::top_mlp, interaction_width(m), m.top_mlp, shard, true, true));
  work.before = {0, 1};
  work.blocks = {2};
  work.after = {3};
  return work;
}

double dlrm_forward_flops(const DlrmSpec& m) {
  const double f = static_cast<double>(vectors(m)), d = static_cast<double>(m.embedding_dim);
  const double cross = m.cross_layers > 0 ? static_cast<double>(m.cross_layers) * 4 * f * d *
                                                static_cast<double>(m.cross_rank)
                                          : 2 * f * f * d;
  return mlp_flops(m.dense_features, m.bottom_mlp) + cross +
         mlp_flops(interaction_width(m), m.top_mlp);
}

std::int64_t dlrm_parameters(const DlrmSpec& m) {
  const std::int64_t width = vectors(m) * m.embedding_dim;
  return m.tables * m.rows_per_table * m.embedding_dim +
         mlp_parameters(m.dense_features, m.bottom_mlp) +
         m.cross_layers * (2 * width * m.cross_rank + width) +
         mlp_parameters(interaction_width(m), m.top_mlp);
}
}  // namespace stepcast
