#pragma once
#include "runtime/device/kernels.hpp"

namespace stepcast::runtime {
/// fp32 on one core: each call becomes one piece of work of the stream. One .cpp per family beside
/// this header.
class CpuKernels final : public Kernels {
 public:
  void gemm(Stream&, const GemmCall&) override;
  void norm_forward(Stream&, const NormCall&) override;
  void norm_backward(Stream&, const NormCall&) override;
  void activation_forward(Stream&, const ActivationCall&) override;
  void activation_backward(Stream&, const ActivationCall&) override;
  Bytes attention_workspace(const AttentionCall&) const override;
  void attention_forward(Stream&, const AttentionCall&) override;
  void attention_backward(Stream&, const AttentionCall&) override;
  void rope(Stream&, const RopeCall&) override;
  void pack_qkv(Stream&, View dq, View dk, View dv, View dqkv, std::int64_t rows, std::int64_t q,
                std::int64_t kv) override;
  void add(Stream&, View a, View b, View bias, View y, std::int64_t rows,
           std::int64_t width) override;
  void accumulate(Stream&, View x, View y, std::int64_t elements) override;
  void column_sum(Stream&, View x, View sums, std::int64_t rows, std::int64_t width) override;
  void cast(Stream&, View x, View y, std::int64_t elements) override;
  void scale(Stream&, View x, float factor, std::int64_t elements) override;
  void embedding_forward(Stream&, View ids, View table, View y, std::int64_t tokens,
                         std::int64_t width, std::int64_t first_row, std::int64_t rows) override;
  void embedding_backward(Stream&, View ids, View dy, View dtable, std::int64_t tokens,
                          std::int64_t width, std::int64_t first_row, std::int64_t rows) override;
  void position_forward(Stream&, View x, View positions, View y, std::int64_t batch,
                        std::int64_t length, std::int64_t width) override;
  void position_backward(Stream&, View dy, View dpositions, std::int64_t batch, std::int64_t length,
                         std::int64_t width) override;
  void loss_forward(Stream&, View logits, View targets, View losses, std::int64_t rows,
                    std::int64_t width, std::int64_t valid) override;
  void loss_backward(Stream&, View probabilities, View targets, float scale, std::int64_t rows,
                     std::int64_t width) override;
  void split_loss_max(Stream&, View logits, View maxima, std::int64_t rows, std::int64_t width,
                      std::int64_t valid) override;
  void split_loss_sum(Stream&, View logits, View targets, View maxima, View sums, std::int64_t rows,
                      std::int64_t width, std::int64_t first, std::int64_t valid) override;
  void split_loss_finish(Stream&, View logits, View maxima, View sums, View losses,
                         std::int64_t rows, std::int64_t width, std::int64_t first,
                         std::int64_t valid) override;
  void split_loss_backward(Stream&, View probabilities, View targets, float scale,
                           std::int64_t rows, std::int64_t width, std::int64_t first) override;
  void square_sum(Stream&, View x, View sum, std::int64_t elements) override;
  void clip(Stream&, View x, View sum, float limit, std::int64_t elements) override;
  void adam(Stream&, const AdamCall&) override;
  void sgd(Stream&, const SgdCall&) override;
  void conv_forward(Stream&, const ConvCall&) override;
  void conv_backward_data(Stream&, const ConvCall&) override;
  void conv_backward_weight(Stream&, const ConvCall&) override;
  void batch_norm_forward(Stream&, const BatchNormCall&) override;
  void batch_norm_backward(Stream&, const BatchNormCall&) override;
  void pool_forward(Stream&, const PoolCall&) override;
  void pool_backward(Stream&, const PoolCall&) override;
  void embedding_bag_forward(Stream&, const EmbeddingBagCall&) override;
  void embedding_bag_update(Stream&, const EmbeddingBagCall&) override;
  void interaction_forward(Stream&, View z, View y, std::int64_t samples, std::int64_t features,
                           std::int64_t width) override;
  void interaction_backward(Stream&, View z, View dy, View dz, std::int64_t samples,
                            std::int64_t features, std::int64_t width) override;
  void binary_loss(Stream&, View logits, View targets, View losses, View dlogits,
                   std::int64_t samples, float scale) override;
};
inline float* f32(View view) { return static_cast<float*>(view.data); }
inline std::int32_t* i32(View view) { return static_cast<std::int32_t*>(view.data); }
}  // namespace stepcast::runtime
