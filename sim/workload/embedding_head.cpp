#include "sim/timeline/op_names.hpp"
#include "sim/workload/linear_ops.hpp"
#include "sim/workload/op_makers.hpp"
#include "sim/workload/predicted_tokens.hpp"
#include "sim/workload/stream_ops.hpp"
#include "sim/workload/transformer_layer.hpp"

namespace stepcast {

std::int64_t padded_vocabulary(std::int64_t vocabulary, int tp) {
  const std::int64_t multiple = std::int64_t{128} * tp;
  return (vocabulary + multiple - 1) / multiple * multiple;
}

LayerWork embedding_layer(const TransformerSpec& model, const Shard& shard) {
  LayerBuilder builder("embedding", shard);
  const int tp = shard.layout.tp;
  const std::int64_t e = shard.element(), rows = padded_vocabulary(model.vocab, tp) / tp;
  const std::int64_t activation = shard.tokens * model.hidden * e,
                     local = shard.norm_tokens * model.hidden * e;

  LayerPiece lookup;
  lookup.kept = shard.tokens * 8;  // token ids
  lookup.forward = {stream_op(op::embedding, Pass::forward, StreamKind::embedding, activation,
                              activation, tp > 1 ? 5 : 1, tp > 1 ? 5 : 1)};
  if (tp > 1) {
    // Each rank looks up the tokens of its share of the vocabulary and leaves zeros elsewhere.
    if (shard.layout.sequence_parallel) {
      lookup.forward.push_back(collective_op(op::tp_reduce_scatter, Pass::forward,
                                             Collective::reduce_scatter, GroupKind::tp,
                                             activation));
      lookup.backward.push_back(collective_op(op::tp_all_gather, Pass::backward_data,
                                              Collective::all_gather, GroupKind::tp, activation));
    } else {
      lookup.forward.push_back(collective_op(op::tp_all_reduce, Pass::forward,
                                             Collective::all_reduce, GroupKind::tp, activation));
    }
  }
  // The gradient is dense in every framework here: the table is cleared, token gradients are added,
  // and the whole is added to the accumulated gradient (no GEMM epilogue can do that).
  const std::int64_t table = rows * model.hidden,
                     g = bytes_per_element(shard.training.gradient_precision);
  lookup.backward.push_back(stream_op(op::embedding, Pass::backward_weight, StreamKind::embedding,
                                      2 * activation, activation + table * e, 4, 4));
  lookup.backward.push_back(stream_op(op::grad_accumulate, Pass::backward_weight,
                                      StreamKind::elementwise, table * (e + g), table * g, 1, 1));
  builder.add(lookup);
  builder.add_dense_parameters(table);

  if (model.max_positions > 0) {
    LayerPiece position;
    position.forward = {
        stream_op(op::position, Pass::forward, StreamKind::elementwise, 2 * local, local, 2, 2)};
    position.backward = {stream_op(op::position, Pass::backward_weight, StreamKind::reduction,
                                   local, local / shard.batch, 2, 2)};
    builder.add(position);
    builder.add_dense_parameters(model.max_positions * model.hidden);
  }
  if (model.dropout) {
    const std::int64_t mask = shard.norm_tokens * model.hidden;
    LayerPiece dropout;
    dropout.kept = mask;
    dropout.forward = {
        stream_op(op::dropout, Pass::forward, StreamKind::elementwise, local, local + mask, 1, 1)};
    dropout.backward = {stream_op(op::dropout, Pass::backward_data, StreamKind::elementwise,
                                  local + mask, local, 1, 1)};
    builder.add(dropout);
  }
  if (model
          .is_encoder_with_mlm_head) {  // BERT: segment embedding and a norm before the first block
    builder.add(norm_piece(shard, op::norm1, model.norm, shard.norm_tokens, model.hidden, false));
    builder.add_dense_parameters(2 * model.hidden + 2 * model.hidden);
  }
  LayerWork work = builder.finish(0, local, Recompute::none);
  work.counts_as_block = false;
  return work;
}

namespace {
/// Softmax cross-entropy over `logits` elements of this rank, vocabulary split over tp ranks.
LayerPiece loss_piece(const Shard& shard, std::int64_t logits) {
  const std::int64_t e = shard.element(), statistics = shard.tokens * 4;
  LayerPiece piece;
  int reductions = 0;
  if (!shard.training.fused_loss) {
    // Megatron's vocab_parallel_cross_entropy: widen, maximum, subtract, exp, sum, divide; all in
    // fp32. Three all-reduces: maximum, target logit, sum. Backward: scale twice in place, narrow.
    piece.forward = {stream_op(op::loss, Pass::forward, StreamKind::loss, logits * (e + 20),
                               logits * 16, 12, 12)};
    piece.backward = {stream_op(op::loss, Pass::backward_data, StreamKind::loss, logits * 12,
                                logits * (8 + e), 5, 5)};
    piece.kept = logits * 4;  // softmax, fp32
    reductions = 3;
  } else {
    // Fused: statistics in one pass, probabilities in place in a second one. Two all-reduces:
    // maximum; target and sum together.
    piece.forward = {
        stream_op(op::loss, Pass::forward, StreamKind::loss, logits * 2 * e, logits * e, 12, 3)};
    piece.backward = {
        stream_op(op::loss, Pass::backward_data, StreamKind::loss, logits * e, logits * e, 5, 1)};
    piece.kept = logits * e;
    reductions = 2;
  }
  if (shard.layout.tp > 1) {
    for (int i = 0; i < reductions; ++i)
      piece.forward.push_back(collective_op(op::tp_all_reduce, Pass::forward,
                                            Collective::all_reduce, GroupKind::tp, statistics));
  }
  return piece;
}
}  // namespace

LayerWork head_layer(const TransformerSpec& model, const Shard& shard, bool owns_weight) {
  LayerBuilder builder("head", shard);
  const int tp = shard.layout.tp;
  const std::int64_t e = shard.element(), columns = padded_vocabulary(model.vocab, tp) / tp;
  if (!model.is_encoder_with_mlm_head) {
    builder.add(
        norm_piece(shard, op::final_norm, model.norm, shard.norm_tokens, model.hidden, false));
    builder.add_dense_parameters(model.hidden * (model.norm == NormKind::layernorm ? 2 : 1));
  } else {
    // Masked-token head: dense C x C on every rank, activation, norm. Pooler and next-sentence
    // classifier act on one token.
    builder.add(linear_piece(shard, {.name = op::mlm_transform,
                                     .rows = predicted_tokens(model, shard.norm_tokens),
                                     .out = model.hidden,
                                     .in = model.hidden}));
    builder.add(activation_piece(shard, op::mlm_transform,
                                 predicted_tokens(model, shard.norm_tokens), model.hidden, false,
                                 true));
    builder.add(norm_piece(shard, op::final_norm, model.norm,
                           predicted_tokens(model, shard.norm_tokens), model.hidden, false));
    builder.add(linear_piece(
        shard, {.name = op::pooler, .rows = shard.batch, .out = model.hidden, .in = model.hidden}));
    const std::int64_t c = model.hidden;
    builder.add_dense_parameters((c * c + c) + 2 * c + columns + (c * c + c) + (2 * c + 2));
  }
  // The output product stays in 16 bit even where the blocks run in 8 bit (Transformer Engine's
  // practice).
  TrainingSpec wide = shard.training;
  wide.precision = shard.storage();
  const Shard head_shard(wide, shard.layout);
  builder.add(linear_piece(head_shard, {.name = op::head,
                                        .rows = predicted_tokens(model, shard.tokens),
                                        .out = columns,
                                        .in = model.hidden,
                                        .split = Split::column}));
  const std::int64_t logits = predicted_tokens(model, shard.tokens) * columns;
  builder.add(loss_piece(shard, logits));
  // Beside what is kept: the logits or their gradient in storage precision, for losses of plain
  // PyTorch (eager, or outside the compiled blocks) one more fp32 copy, and the whole input for the
  // weight gradient.
  const bool has_plain_loss =
      shard.is_eager() || (shard.is_compiled() && !shard.training.fused_loss);
  builder.note_temporary(logits * (has_plain_loss ? 4 + e : e) + shard.tokens * model.hidden * e);
  if (owns_weight) builder.add_dense_parameters(columns * model.hidden);

  LayerWork work = builder.finish(block_io_bytes(model, shard), 0, Recompute::none);
  work.weight_gradient = Bytes(columns * model.hidden * e);
  work.counts_as_block = false;
  return work;
}
}  // namespace stepcast
