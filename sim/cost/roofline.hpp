#pragma once
#include "sim/cluster/cluster_spec.hpp"
#include "sim/core/units.hpp"
#include "sim/workload/op.hpp"

/// Amounts of one kernel and the least time physics allows for them. The fit divides a measured
/// time by this, the cost model multiplies it back, so both use these functions and nothing else.
namespace stepcast {

/// What a kernel computes and what it moves through device memory at least once.
struct KernelAmounts {
  Flops flops;
  Bytes bytes;
};

/// 2mnk per batch member; each operand read once, the result written once in 16 bit (32 bit for
/// fp32 and tf32 input).
KernelAmounts gemm_amounts(const GemmShape& shape, Precision precision);
/// 2 q k (d_qk + d_v) per head over the pairs that the mask keeps; the backward recomputes the
/// scores and forms four products, 2.5 times the forward's flops. Bytes: q, k, v and the result
/// (backward: also their gradients).
KernelAmounts attention_amounts(const AttentionShape& shape, Precision precision);
/// Query-key pairs that are computed: all, or those on and under the diagonal that ends in the last
/// key.
double attention_pairs(const AttentionShape& shape);
/// The convolution as the GEMM it is lowered to ("implicit GEMM"), by direction:
/// forward m = n h' w', n = c_out, k = c_in f f / groups; the backward passes permute the three.
KernelAmounts conv_amounts(const ConvShape& shape, Precision precision);
GemmShape implicit_gemm(const ConvShape& shape, Pass pass);

/// The precision at which this GPU runs an op that asks for `wanted`: itself, or where the
/// datasheet has no peak for it, the nearest one that it has (bf16 on a V100 runs as fp16, fp8 on
/// an A100 as bf16).
Precision supported_precision(const GpuSpec& gpu, Precision wanted);

/// max(flops / peak, bytes / memory bandwidth).
Seconds roofline_time(const KernelAmounts& amounts, Precision precision, const GpuSpec& gpu);
}  // namespace stepcast
