#pragma once
#include "sim/workload/layer_builder.hpp"

namespace stepcast {

/// How the weight of a linear layer is split over tensor-parallel ranks (Shoeybi 2019). column:
/// outputs split, input whole; row: inputs split, output summed over ranks; none: every rank holds
/// the whole weight.
enum class Split { none, column, row };

struct Linear {
  std::string_view name;
  std::int64_t rows = 0;  // m: tokens
  std::int64_t out = 0;   // n on this rank
  std::int64_t in = 0;    // k on this rank
  Split split = Split::none;
  bool fed_by_norm = false;      // fused 8-bit kernels quantise inside the norm
  bool input_is_shared = false;  // the input is kept by another piece
  bool needs_input_grad = true;
  bool exchanges = true;  // false: a layer beside it gathers the input and sums the output for both
  /// Rows and width of the whole activation that tensor-parallel ranks exchange; 0: rows x (column:
  /// in, row: out).
  std::int64_t exchange_bytes = 0;
  /// Widths of the separate products that this one GEMM stands for; empty: it is one.
  std::vector<std::int64_t> stacked = {};
};

/// Forward GEMM, input-gradient and weight-gradient GEMMs, with the tensor-parallel collectives
/// around them.
///   sequence parallel   column: all-gather x | GEMM        backward: all-gather x again, dgrad,
///   reduce-scatter dx, wgrad
///                       row:    GEMM | reduce-scatter y    backward: all-gather dy, dgrad, wgrad
///   without             column: GEMM                       backward: dgrad, all-reduce dx, wgrad
///                       row:    GEMM | all-reduce y        backward: dgrad, wgrad
/// Overlappable are those that a chunked GEMM (sequence parallel) or the weight gradient beside
/// them can hide.
LayerPiece linear_piece(const Shard& shard, const Linear& linear);

/// Weight gradient of `elements` added to the accumulated gradient by its own kernel: frameworks
/// without a GEMM epilogue that accumulates, when there is something to accumulate or to widen.
std::vector<Op> grad_accumulate_ops(const Shard& shard, std::int64_t elements);
}  // namespace stepcast
