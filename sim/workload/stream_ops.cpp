#include "sim/workload/stream_ops.hpp"

#include "sim/timeline/op_names.hpp"
#include "sim/workload/op_makers.hpp"

namespace stepcast {

LayerPiece norm_piece(const Shard& shard, std::string_view name, NormKind kind, std::int64_t rows,
                      std::int64_t width, bool on_residual) {
  const std::int64_t n = rows * width, e = shard.element();
  LayerPiece piece;
  piece.kept = n * e;  // the input; mean and variance are a few bytes per row
  if (shard.is_eager() && kind == NormKind::rmsnorm) {
    // Composite RMSNorm in fp32: to fp32, square, mean, scale by rsqrt, cast back, weight. Per
    // element in bytes (16-bit storage): reads 2+4+4+4+4+2, writes 4+4+0+4+2+2. The backward runs
    // about twice as many kernels.
    piece.forward = {
        stream_op(name, Pass::forward, StreamKind::norm, n * (16 + 2 * e), n * (12 + 2 * e), 6, 1)};
    piece.backward = {stream_op(name, Pass::backward_data, StreamKind::norm, n * (28 + 4 * e),
                                n * (20 + 2 * e), 10, 2)};
    piece.kept = n * (e + 4);  // the fp32 copy stays for the square
  } else {
    // Also eager LayerNorm is one kernel forward. Backward: input gradient (dy, x) and weight
    // gradient, which reads dy and x again in PyTorch and Apex; fused kernels (Transformer Engine)
    // do both in one pass.
    const std::int64_t backward_reads = shard.is_eager() ? 4 : 2;
    piece.forward = {stream_op(name, Pass::forward, StreamKind::norm, n * e, n * e, 1, 1)};
    piece.backward = {stream_op(name, Pass::backward_data, StreamKind::norm, backward_reads * n * e,
                                n * e, 3, 2)};
  }
  if (on_residual) {
    // torch.compile adds it inside the norm's kernel: one more read.
    if (shard.is_compiled())
      piece.backward.push_back(stream_op(op::residual_grad, Pass::backward_data,
                                         StreamKind::elementwise, n * e, 0, 0, 0));
    else
      piece.backward.push_back(stream_op(op::residual_grad, Pass::backward_data,
                                         StreamKind::elementwise, 2 * n * e, n * e, 1, 1));
  }
  return piece;
}

LayerPiece residual_piece(const Shard& shard, std::int64_t rows, std::int64_t width, bool bias,
                          bool dropout) {
  const std::int64_t n = rows * width, e = shard.element();
  const std::int64_t mask = dropout ? n : 0;  // one byte per element
  LayerPiece piece;
  piece.kept = mask;
  std::int64_t read = 2 * n * e, written = n * e + mask;
  int launches = 1;
  if (shard.is_eager()) {
    if (bias) {
      read += n * e;
      written += n * e;
      ++launches;
    }
    if (dropout) {
      read += n * e;
      written += n * e;
      ++launches;
    }
  }
  piece.forward = {
      stream_op(op::residual, Pass::forward, StreamKind::elementwise, read, written, launches, 1)};
  if (dropout)
    piece.backward.push_back(stream_op(op::dropout, Pass::backward_data, StreamKind::elementwise,
                                       n * e + mask, n * e, 1, 1));
  if (bias)
    piece.backward.push_back(
        stream_op(op::residual, Pass::backward_weight, StreamKind::reduction, n * e, 0, 1, 1));
  return piece;
}

LayerPiece activation_piece(const Shard& shard, std::string_view name, std::int64_t rows,
                            std::int64_t width, bool gated, bool bias) {
  const std::int64_t n = rows * width, e = shard.element();
  LayerPiece piece;
  // Kept: the input; the output is kept by the product that consumes it.
  piece.kept = (gated ? 2 : 1) * n * e;
  std::int64_t read, written, read_back, written_back;
  int launches, launches_back;
  if (gated) {
    read = 2 * n * e, written = n * e, launches = 1;  // silu(gate) * up
    read_back = 3 * n * e, written_back = 2 * n * e, launches_back = 1;
    if (shard.is_eager()) {
      piece.kept += n * e;                            // silu(gate) is kept for the gradient of up
      read += n * e, written += n * e, launches = 2;  // silu, then the product
      read_back += 3 * n * e, written_back += n * e, launches_back = 3;
    }
  } else {
    read = n * e, written = n * e, launches = 1;
    read_back = 2 * n * e, written_back = n * e, launches_back = 1;
  }
  if (bias && shard.is_eager()) read += n * e, written += n * e, ++launches;
  piece.forward = {
      stream_op(name, Pass::forward, StreamKind::elementwise, read, written, launches, 1)};
  piece.backward = {stream_op(name, Pass::backward_data, StreamKind::elementwise, read_back,
                              written_back, launches_back, 1)};
  if (bias)
    piece.backward.push_back(stream_op(name, Pass::backward_weight, StreamKind::reduction,
                                       (gated ? 2 : 1) * n * e, 0, 1, 1));
  return piece;
}

LayerPiece rope_piece(const Shard& shard, std::int64_t rows, std::int64_t width) {
  const std::int64_t bytes = rows * width * shard.element();
  LayerPiece piece;
  for (const Pass pass : {Pass::forward, Pass::backward_data}) {
    // Unfused, for query and key each: negate half, concatenate, two products, one sum: 5.5 reads
    // and 4.5 writes.
    const Op op = shard.is_eager()
                      ? stream_op(op::rope, pass, StreamKind::elementwise, bytes * 11 / 2,
                                  bytes * 9 / 2, 10, 2)
                      : stream_op(op::rope, pass, StreamKind::elementwise, bytes, bytes, 10, 2);
    (pass == Pass::forward ? piece.forward : piece.backward).push_back(op);
  }
  return piece;
}
}  // namespace stepcast
