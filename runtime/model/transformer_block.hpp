#pragma once
#include "runtime/layers/linear.hpp"
#include "runtime/model/parameters.hpp"
#include "sim/workload/training_spec.hpp"

namespace stepcast::runtime {

/// Sizes of a block on this rank. B samples, T tokens, C hidden, H and K query and key/value heads
/// here, D head dimension, F MLP width here.
struct BlockShape {
  std::int64_t B = 0, T = 0, C = 0, H = 0, K = 0, D = 0, F = 0;
  std::int64_t rows() const { return B * T; }
  std::int64_t qkv_width() const { return (H + 2 * K) * D; }
  bool gated = false, bias = true, rope = false, causal = true;
  NormKind norm = NormKind::layernorm;
};

/// Indices of a block's tensors in the arena, in the order in which they stand there.
struct BlockParameters {
  std::size_t norm1_weight = 0, norm1_bias = 0, qkv = 0, qkv_bias = 0, out = 0, out_bias = 0;
  std::size_t norm2_weight = 0, norm2_bias = 0, up = 0, up_bias = 0, down = 0, down_bias = 0;
};
/// `split`: tensor-parallel size and rank; `layers` of the whole model scale the residual
/// projections (GPT-2).
BlockParameters add_block_parameters(Parameters& parameters, const TransformerSpec& model,
                                     const std::string& prefix, int tp, int tp_rank);

/// What a block keeps from forward to backward.
struct BlockActivations {
  Buffer norm1, mean1, rstd1;  // (B, T, C), (B*T)
  Buffer qkv, attention, lse;  // (B, T, qkv_width), (B, T, H*D), (B, H, T)
  Buffer residual1;            // (B, T, C) after attention
  Buffer norm2, mean2, rstd2;
  Buffer up, act;  // (B, T, F or 2F), (B, T, F)
  BlockActivations(Device& device, const BlockShape& shape, Precision precision);
};
/// Scratch of one block at a time, shared by all.
struct BlockWorkspace {
  Buffer branch;          // (B, T, C) output of a projection before it joins the residual
  Buffer dbranch, dnorm;  // (B, T, C)
  Buffer dup, dact;       // (B, T, F or 2F), (B, T, F)
  Buffer dattention, dq, dk, dv, dqkv;
  Buffer attention;
  BlockWorkspace(Device& device, const BlockShape& shape, Precision precision);
};

/// x and y (B, T, C). y = residual1 + mlp(norm2(residual1)), residual1 = x + attention(norm1(x)).
void block_forward(const LayerContext& context, const BlockShape& shape,
                   const Parameters& parameters, const BlockParameters& at, BlockActivations& kept,
                   BlockWorkspace& work, View x, View y);
/// dy becomes dx in place of `gradient`; `sink` hears of each gradient as it completes.
void block_backward(const LayerContext& context, const BlockShape& shape,
                    const Parameters& parameters, const BlockParameters& at, BlockActivations& kept,
                    BlockWorkspace& work, View x, View gradient, GradientSink* sink);
}  // namespace stepcast::runtime
