#pragma once
#include "sim/io/object_reader.hpp"
#include "sim/workload/op.hpp"

namespace stepcast {
enum class Recompute { none, selective, full };
template <>
struct EnumText<Recompute> {
  static constexpr std::array<std::pair<Recompute, std::string_view>, 3> table{
      {{Recompute::none, "none"}, {Recompute::selective, "selective"}, {Recompute::full, "full"}}};
};
enum class AttentionKind { flash, unfused };
template <>
struct EnumText<AttentionKind> {
  static constexpr std::array<std::pair<AttentionKind, std::string_view>, 2> table{
      {{AttentionKind::flash, "flash"}, {AttentionKind::unfused, "unfused"}}};
};
/// Generation of the flash kernel, where a framework runs an older one than the profile's tables
/// were measured with. flash2: FlashAttention-2 (PyTorch's scaled_dot_product_attention); triton:
/// the first flash kernel in Triton.
enum class AttentionKernel { best, flash2, triton };
template <>
struct EnumText<AttentionKernel> {
  static constexpr std::array<std::pair<AttentionKernel, std::string_view>, 3> table{
      {{AttentionKernel::best, "best"},
       {AttentionKernel::flash2, "flash2"},
       {AttentionKernel::triton, "triton"}}};
};
enum class OptimizerKind { adam, sgd, lamb };
template <>
struct EnumText<OptimizerKind> {
  static constexpr std::array<std::pair<OptimizerKind, std::string_view>, 3> table{
      {{OptimizerKind::adam, "adam"}, {OptimizerKind::sgd, "sgd"}, {OptimizerKind::lamb, "lamb"}}};
};
/// How pointwise work is compiled. eager: one kernel per framework op; fused: hand-fused kernels
/// (Megatron, Transformer Engine, Apex); compiled: chains of pointwise ops become one kernel
/// (torch.compile, XLA).
enum class Fusion { eager, fused, compiled };
template <>
struct EnumText<Fusion> {
  static constexpr std::array<std::pair<Fusion, std::string_view>, 3> table{
      {{Fusion::eager, "eager"}, {Fusion::fused, "fused"}, {Fusion::compiled, "compiled"}}};
};
/// Where the scale of an 8-bit tensor comes from. delayed: the maximum of earlier steps, so that
/// one pass casts (Transformer Engine's recipe of 2023-2024); dynamic: the tensor's own maximum,
/// found by a pass before the cast, weights cast again in every pass (torchao's float8 linear).
enum class NarrowScaling { delayed, dynamic };
template <>
struct EnumText<NarrowScaling> {
  static constexpr std::array<std::pair<NarrowScaling, std::string_view>, 2> table{
      {{NarrowScaling::delayed, "delayed"}, {NarrowScaling::dynamic, "dynamic"}}};
};

struct TrainingSpec {
  std::int64_t global_batch = 0;                   // samples per step over all ranks
  std::int64_t micro_batch = 1;                    // samples per rank and micro-batch
  std::int64_t sequence_length = 0;                // tokens per sample; 1 for images
  Precision precision = Precision::bf16;           // of GEMM and attention inputs
  Precision gradient_precision = Precision::fp32;  // of accumulated and reduced gradients
  OptimizerKind optimizer = OptimizerKind::adam;
  Recompute recompute = Recompute::none;
  std::int64_t recompute_layers = 0;  // full recompute of only so many layers per stage; 0 = all
  std::int64_t recompute_interval =
      1;  // full recompute of every n-th block only, counted over the model
  AttentionKind attention = AttentionKind::flash;
  AttentionKernel attention_kernel = AttentionKernel::best;
  Fusion fusion = Fusion::fused;
  bool fused_loss = true;  // cross-entropy in one pass over the logits; Megatron before 2023 ran it
                           // as eager fp32 operations
  /// The weight-gradient product adds to the accumulated gradient in its epilogue (Megatron-LM from
  /// 2022 with Apex or Transformer Engine); otherwise a kernel of its own adds every micro-batch's
  /// gradient.
  bool fused_gradient_accumulation = true;
  NarrowScaling narrow_scaling = NarrowScaling::delayed;
  bool master_weights = true;  // fp32 copy of 16-bit parameters kept by the optimizer
  bool gradient_clip = true;
  bool causal_skips_half = true;  // unfused attention computes the full square
};
TrainingSpec read_training(ObjectReader reader);
}  // namespace stepcast
