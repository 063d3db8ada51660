#pragma once
#include "sim/workload/layer_builder.hpp"
#include "sim/workload/model_spec.hpp"

/// The bandwidth-bound pieces between the matrix products. Bytes are what each kernel must read and
/// write once; how many kernels there are depends on Fusion (see TrainingSpec).
namespace stepcast {

/// Normalises `rows` vectors of `width`. Backward adds the gradient that came along the residual
/// path when `on_residual`.
LayerPiece norm_piece(const Shard& shard, std::string_view name, NormKind kind, std::int64_t rows,
                      std::int64_t width, bool on_residual = true);
/// x + dropout(y + bias) over `rows` x `width`.
LayerPiece residual_piece(const Shard& shard, std::int64_t rows, std::int64_t width, bool bias,
                          bool dropout);
/// GELU-like (ungated) or SwiGLU-like (gated: 2*width in, width out) activation with the bias of
/// the product before it.
LayerPiece activation_piece(const Shard& shard, std::string_view name, std::int64_t rows,
                            std::int64_t width, bool gated, bool bias);
/// Rotary embedding of `rows` x `width` (query and key widths together), in place.
LayerPiece rope_piece(const Shard& shard, std::int64_t rows, std::int64_t width);
}  // namespace stepcast
