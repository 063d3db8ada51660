#pragma once
#include "runtime/compress/compress_kernels.hpp"
#include "runtime/device/kernels.hpp"

struct CUstream_st;

/// Launches of our own kernels, one function per entry of Kernels and CompressKernels that no
/// vendor library serves. The same .cu files build for the GPU (nvcc) and for the emulation (g++).
/// Asynchronous on the stream; shapes are the caller's.
namespace stepcast::runtime::launch {
using CudaStream = CUstream_st*;

// norm.cu
void norm_forward(CudaStream, const NormCall&);
void norm_backward(CudaStream, const NormCall&);
void batch_norm_forward(CudaStream, const BatchNormCall&);
void batch_norm_backward(CudaStream, const BatchNormCall&,
                         View sums);  // sums: 2 channels fp32, scratch
// elementwise.cu
void activation_forward(CudaStream, const ActivationCall&);
void activation_backward(CudaStream, const ActivationCall&);
void add(CudaStream, View a, View b, View bias, View y, std::int64_t rows, std::int64_t width);
void accumulate(CudaStream, View x, View y, std::int64_t elements);
void column_sum(CudaStream, View x, View sums, std::int64_t rows, std::int64_t width);
void cast(CudaStream, View x, View y, std::int64_t elements);
void scale(CudaStream, View x, float factor, std::int64_t elements);
void add_bias(CudaStream, View x, View bias, std::int64_t rows, std::int64_t width);
void rope(CudaStream, const RopeCall&);
void pack_qkv(CudaStream, View dq, View dk, View dv, View dqkv, std::int64_t rows, std::int64_t q,
              std::int64_t kv);
// attention.cu; head_dim up to 128
std::int64_t attention_workspace(const AttentionCall&);  // bytes
void attention_forward(CudaStream, const AttentionCall&);
void attention_backward(CudaStream, const AttentionCall&);
// embedding.cu
void embedding_forward(CudaStream, View ids, View table, View y, std::int64_t tokens,
                       std::int64_t width, std::int64_t first_row, std::int64_t rows);
void embedding_backward(CudaStream, View ids, View dy, View dtable, std::int64_t tokens,
                        std::int64_t width, std::int64_t first_row, std::int64_t rows);
void position_forward(CudaStream, View x, View positions, View y, std::int64_t batch,
                      std::int64_t length, std::int64_t width);
void position_backward(CudaStream, View dy, View dpositions, std::int64_t batch,
                       std::int64_t length, std::int64_t width);
void embedding_bag_forward(CudaStream, const EmbeddingBagCall&);
void embedding_bag_update(CudaStream, const EmbeddingBagCall&);
void interaction_forward(CudaStream, View z, View y, std::int64_t samples, std::int64_t features,
                         std::int64_t width);
void interaction_backward(CudaStream, View z, View dy, View dz, std::int64_t samples,
                          std::int64_t features, std::int64_t width);
// loss.cu
void loss_forward(CudaStream, View logits, View targets, View losses, std::int64_t rows,
                  std::int64_t width, std::int64_t valid);
void split_loss_max(CudaStream, View logits, View maxima, std::int64_t rows, std::int64_t width,
                    std::int64_t valid);
void split_loss_sum(CudaStream, View logits, View targets, View maxima, View sums,
                    std::int64_t rows, std::int64_t width, std::int64_t first, std::int64_t valid);
void split_loss_finish(CudaStream, View logits, View sums, View losses, std::int64_t rows,
                       std::int64_t width, std::int64_t valid);
void split_loss_backward(CudaStream, View probabilities, View targets, float scale,
                         std::int64_t rows, std::int64_t width, std::int64_t first);
void binary_loss(CudaStream, View logits, View targets, View losses, View dlogits,
                 std::int64_t samples, float scale);
// optimizer.cu
void square_sum(CudaStream, View x, View sum, std::int64_t elements);
void clip(CudaStream, View x, View sum, float limit, std::int64_t elements);
void adam(CudaStream, const AdamCall&);
void sgd(CudaStream, const SgdCall&);
// image.cu; columns: (n * out_h * out_w, kernel * kernel * c_in)
void image_to_columns(CudaStream, const ConvShape&, View image, View columns);
void columns_to_image(CudaStream, const ConvShape&, View columns, View image);
void pool_forward(CudaStream, const PoolCall&);
void pool_backward(CudaStream, const PoolCall&);
// compress.cu, power.cu: the methods of CompressKernels
void add_gradient(CudaStream, View g, View x, std::int64_t n, bool has_feedback);
void encode_cast(CudaStream, View x, View payload, float factor, std::int64_t n);
void decode_cast(CudaStream, View payload, View g, float factor, std::int64_t n);
void encode_blocks(CudaStream, BlockFormat, View x, View payload, std::int64_t n);
void decode_blocks(CudaStream, BlockFormat, View payloads, int ranks, View g, std::int64_t n);
std::int64_t top_k_workspace(std::int64_t n);
void encode_top_k(CudaStream, View x, View payload, View workspace, std::int64_t n,
                  std::int64_t kept);
void decode_top_k(CudaStream, View payloads, int ranks, View g, std::int64_t n, std::int64_t kept);
void encode_random_k(CudaStream, View x, View payload, std::int64_t n, std::int64_t kept,
                     std::uint64_t seed);
void decode_random_k(CudaStream, View payload, View g, float factor, std::int64_t n,
                     std::int64_t kept, std::uint64_t seed);
void power_start(CudaStream, View q, const PowerShape&, std::uint64_t seed);
void power_project(CudaStream, View x, View q, View p, const PowerShape&);
void power_orthonormalise(CudaStream, View p, const PowerShape&);
void power_back(CudaStream, View x, View p, View q, const PowerShape&);
void power_expand(CudaStream, View p, View q, View g, const PowerShape&);
// timing.cu: keeps one SM busy for that many clock cycles, so that work behind it is enqueued
// before it starts
void wait_cycles(CudaStream, std::int64_t cycles);
}  // namespace stepcast::runtime::launch
