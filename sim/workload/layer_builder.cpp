#include "sim/workload/layer_builder.hpp"

#include <algorithm>

#include "sim/workload/op_makers.hpp"

namespace stepcast {
namespace {
void append(std::vector<Op>& to, const std::vector<Op>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

/// What of a piece's forward runs again when only some of its products kept their output: a product
/// in proportion, no scatter of a sum (kept as well), all else whole.
std::vector<Op> repeated_ops(const LayerPiece& piece, std::int64_t outputs, std::int64_t kept) {
  std::vector<Op> repeated;
  for (Op op : piece.forward) {
    if (const auto* gemm = std::get_if<GemmShape>(&op.shape); gemm != nullptr && outputs > 0) {
      GemmShape part = *gemm;
      part.n = part.n * (outputs - kept) / outputs;
      if (part.n == 0) continue;
      op = gemm_op(op.name, op.pass, op.precision, part);
    }
    const auto* collective = std::get_if<CollectiveShape>(&op.shape);
    if (collective != nullptr && collective->collective == Collective::reduce_scatter) continue;
    repeated.push_back(std::move(op));
  }
  return repeated;
}
}  // namespace

bool LayerBuilder::repeats_ops() const {
  return shard_.training.fusion != Fusion::fused &&
         shard_.training.attention == AttentionKind::flash;
}

/// Selective recomputation of ops keeps what attention and every second matrix product put out,
/// counted from the block's first, and repeats the rest (torchtitan's "op" policy:
/// pytorch/torchtitan@04133643 torchtitan/parallelisms/parallelize_llama.py). Returns the bytes
/// kept.
std::int64_t LayerBuilder::keep_alternate_products() {
  std::int64_t kept = 0;
  int product = 0;
  for (const LayerPiece& piece : pieces_) {
    if (piece.attention_output > 0) {
      kept += piece.attention_output + piece.kept;  // with its log-sum-exp
      continue;
    }
    std::int64_t outputs = 0, kept_here = 0;
    for (const std::int64_t output : piece.product_outputs) {
      outputs += output;
      if (product++ % 2 == 0) kept_here += output;
    }
    kept += kept_here;
    append(work_.recompute, repeated_ops(piece, outputs, kept_here));
  }
  return kept;
}

LayerWork LayerBuilder::finish(std::int64_t input, std::int64_t output, Recompute mode) {
  std::int64_t kept = 0, kept_core = 0;
  for (const LayerPiece& piece : pieces_) {
    append(work_.forward, piece.forward);
    (piece.is_attention_core ? kept_core : kept) += piece.kept;
    if (mode == Recompute::full || (mode == Recompute::selective && piece.is_attention_core))
      append(work_.recompute, piece.forward);
  }
  for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece)
    append(work_.backward, piece->backward);
  const bool keeps_outputs = mode == Recompute::selective && repeats_ops();
  const std::int64_t kept_outputs = keeps_outputs ? keep_alternate_products() : 0;
  for (Op& op : work_.recompute) op.pass = Pass::recompute;

  if (mode == Recompute::none) {
    work_.activation = Bytes(kept + kept_core);
    work_.working = Bytes(temporary_);
  } else if (mode == Recompute::full || keeps_outputs) {
    // The input stays, and outputs that were chosen; the layer's other activations come back while
    // its backward runs.
    work_.activation = Bytes(input + kept_outputs);
    work_.working =
        Bytes(std::max<std::int64_t>(kept + kept_core - input - kept_outputs, 0) + temporary_);
  } else {
    work_.activation = Bytes(kept);
    work_.working = Bytes(std::max(temporary_, kept_core));
  }
  work_.output = Bytes(output);
  return std::move(work_);
}
}  // namespace stepcast
