#include "runtime/cuda/cuda_kernels.hpp"

#include "runtime/cuda/cuda_device.hpp"
#include "runtime/kernels/launch.hpp"

/// One line per kernel: make the stream's device current and launch.
namespace stepcast::runtime {
namespace {
CUstream_st* on(Stream& stream) {
  static_cast<CudaDevice&>(stream.device()).use();
  return handle(stream);
}
}  // namespace

void CudaKernels::gemm(Stream& s, const GemmCall& call) {
  on(s);
  products_.gemm(cuda(s), call);
}
void CudaKernels::norm_forward(Stream& s, const NormCall& call) {
  launch::norm_forward(on(s), call);
}
void CudaKernels::norm_backward(Stream& s, const NormCall& call) {
  launch::norm_backward(on(s), call);
}
void CudaKernels::activation_forward(Stream& s, const ActivationCall& call) {
  launch::activation_forward(on(s), call);
}
void CudaKernels::activation_backward(Stream& s, const ActivationCall& call) {
  launch::activation_backward(on(s), call);
}
Bytes CudaKernels::attention_workspace(const AttentionCall& call) const {
  return Bytes(launch::attention_workspace(call));
}
void CudaKernels::attention_forward(Stream& s, const AttentionCall& call) {
  launch::attention_forward(on(s), call);
}
void CudaKernels::attention_backward(Stream& s, const AttentionCall& call) {
  launch::attention_backward(on(s), call);
}
void CudaKernels::rope(Stream& s, const RopeCall& call) { launch::rope(on(s), call); }
void CudaKernels::pack_qkv(Stream& s, View dq, View dk, View dv, View dqkv, std::int64_t rows,
                           std::int64_t q, std::int64_t kv) {
  launch::pack_qkv(on(s), dq, dk, dv, dqkv, rows, q, kv);
}
void CudaKernels::add(Stream& s, View a, View b, View bias, View y, std::int64_t rows,
                      std::int64_t width) {
  launch::add(on(s), a, b, bias, y, rows, width);
}
void CudaKernels::accumulate(Stream& s, View x, View y, std::int64_t elements) {
  launch::accumulate(on(s), x, y, elements);
}
void CudaKernels::column_sum(Stream& s, View x, View sums, std::int64_t rows, std::int64_t width) {
  launch::column_sum(on(s), x, sums, rows, width);
}
void CudaKernels::cast(Stream& s, View x, View y, std::int64_t elements) {
  launch::cast(on(s), x, y, elements);
}
void CudaKernels::scale(Stream& s, View x, float factor, std::int64_t elements) {
  launch::scale(on(s), x, factor, elements);
}
void CudaKernels::embedding_forward(Stream& s, View ids, View table, View y, std::int64_t tokens,
                                    std::int64_t width, std::int64_t first_row, std::int64_t rows) {
  launch::embedding_forward(on(s), ids, table, y, tokens, width, first_row, rows);
}
void CudaKernels::embedding_backward(Stream& s, View ids, View dy, View dtable, std::int64_t tokens,
                                     std::int64_t width, std::int64_t first_row,
                                     std::int64_t rows) {
  launch::embedding_backward(on(s), ids, dy, dtable, tokens, width, first_row, rows);
}
void CudaKernels::position_forward(Stream& s, View x, View positions, View y, std::int64_t batch,
                                   std::int64_t length, std::int64_t width) {
  launch::position_forward(on(s), x, positions, y, batch, length, width);
}
void CudaKernels::position_backward(Stream& s, View dy, View dpositions, std::int64_t batch,
                                    std::int64_t length, std::int64_t width) {
  launch::position_backward(on(s), dy, dpositions, batch, length, width);
}
void CudaKernels::loss_forward(Stream& s, View logits, View targets, View losses, std::int64_t rows,
                               std::int64_t width, std::int64_t valid) {
  launch::loss_forward(on(s), logits, targets, losses, rows, width, valid);
}
void CudaKernels::loss_backward(Stream& s, View probabilities, View targets, float scale,
                                std::int64_t rows, std::int64_t width) {
  launch::split_loss_backward(on(s), probabilities, targets, scale, rows, width, 0);
}
void CudaKernels::split_loss_max(Stream& s, View logits, View maxima, std::int64_t rows,
                                 std::int64_t width, std::int64_t valid) {
  launch::split_loss_max(on(s), logits, maxima, rows, width, valid);
}
void CudaKernels::split_loss_sum(Stream& s, View logits, View targets, View maxima, View sums,
                                 std::int64_t rows, std::int64_t width, std::int64_t first,
                                 std::int64_t valid) {
  launch::split_loss_sum(on(s), logits, targets, maxima, sums, rows, width, first, valid);
}
void CudaKernels::split_loss_finish(Stream& s, View logits, View /*maxima*/, View sums, View losses,
                                    std::int64_t rows, std::int64_t width, std::int64_t /*first*/,
                                    std::int64_t valid) {
  launch::split_loss_finish(on(s), logits, sums, losses, rows, width, valid);
}
void CudaKernels::split_loss_backward(Stream& s, View probabilities, View targets, float scale,
                                      std::int64_t rows, std::int64_t width, std::int64_t first) {
  launch::split_loss_backward(on(s), probabilities, targets, scale, rows, width, first);
}
void CudaKernels::square_sum(Stream& s, View x, View sum, std::int64_t elements) {
  launch::square_sum(on(s), x, sum, elements);
}
void CudaKernels::clip(Stream& s, View x, View sum, float limit, std::int64_t elements) {
  launch::clip(on(s), x, sum, limit, elements);
}
void CudaKernels::adam(Stream& s, const AdamCall& call) { launch::adam(on(s), call); }
void CudaKernels::sgd(Stream& s, const SgdCall& call) { launch::sgd(on(s), call); }

namespace {
/// Sizes of a convolution as a product: y (positions, c_out) = columns (positions, groups * depth)
/// filters'.
struct ConvProduct {
  std::int64_t positions, groups, depth, outputs;  // depth and outputs of one group
  explicit ConvProduct(const ConvShape& s) {
    const std::int64_t stride = s.stride > 0 ? s.stride : 1,
                       kw = s.kernel_w > 0 ? s.kernel_w : s.kernel;
    groups = s.groups > 0 ? s.groups : 1;
    positions = s.n * ((s.h + stride - 1) / stride) * ((s.w + stride - 1) / stride);
    depth = s.kernel * kw * s.c_in / groups;
    outputs = s.c_out / groups;
  }
  Bytes columns(Precision precision) const {
    return Bytes(positions * groups * depth * bytes_per_element(precision));
  }
};
constexpr std::int64_t kProductWorkspace =
    64ll << 20;  // bytes in front of the columns, which cuBLASLt takes as its workspace
}  // namespace

void CudaKernels::conv_forward(Stream& s, const ConvCall& c) {
  const ConvProduct p(c.shape);
  const View columns{
      static_cast<std::byte*>(
          cuda(s).scratch(Bytes(kProductWorkspace + p.columns(c.x.precision).value)).data) +
          kProductWorkspace,
      c.x.precision};
  launch::image_to_columns(on(s), c.shape, c.x, columns);
  products_.gemm(cuda(s), {.a = columns,
                           .b = c.filter,
                           .c = c.y,
                           .m = p.positions,
                           .n = p.outputs,
                           .k = p.depth,
                           .batch = p.groups,
                           .b_transposed = true,
                           .lda = p.groups * p.depth,
                           .ldc = p.groups * p.outputs,
                           .stride_a = p.depth,
                           .stride_b = p.outputs * p.depth,
                           .stride_c = p.outputs});
}
void CudaKernels::conv_backward_data(Stream& s, const ConvCall& c) {
  const ConvProduct p(c.shape);
  const View columns{
      static_cast<std::byte*>(
          cuda(s).scratch(Bytes(kProductWorkspace + p.columns(c.dy.precision).value)).data) +
          kProductWorkspace,
      c.dy.precision};
  on(s);
  products_.gemm(cuda(s), {.a = c.dy,
                           .b = c.filter,
                           .c = columns,
                           .m = p.positions,
                           .n = p.depth,
                           .k = p.outputs,
                           .batch = p.groups,
                           .lda = p.groups * p.outputs,
                           .ldc = p.groups * p.depth,
                           .stride_a = p.outputs,
                           .stride_b = p.outputs * p.depth,
                           .stride_c = p.depth});
  launch::columns_to_image(on(s), c.shape, columns, c.dx);
}
void CudaKernels::conv_backward_weight(Stream& s, const ConvCall& c) {
  const ConvProduct p(c.shape);
  const View columns{
      static_cast<std::byte*>(
          cuda(s).scratch(Bytes(kProductWorkspace + p.columns(c.x.precision).value)).data) +
          kProductWorkspace,
      c.x.precision};
  launch::image_to_columns(on(s), c.shape, c.x, columns);
  products_.gemm(cuda(s), {.a = c.dy,
                           .b = columns,
                           .c = c.dfilter,
                           .m = p.outputs,
                           .n = p.depth,
                           .k = p.positions,
                           .batch = p.groups,
                           .a_transposed = true,
                           .accumulates = true,
                           .lda = p.groups * p.outputs,
                           .ldb = p.groups * p.depth,
                           .stride_a = p.outputs,
                           .stride_b = p.depth,
                           .stride_c = p.outputs * p.depth});
}
void CudaKernels::batch_norm_forward(Stream& s, const BatchNormCall& call) {
  launch::batch_norm_forward(on(s), call);
}
void CudaKernels::batch_norm_backward(Stream& s, const BatchNormCall& call) {
  const View sums = cuda(s).scratch(Bytes(2 * call.channels * 4));
  launch::batch_norm_backward(on(s), call, sums);
}
void CudaKernels::pool_forward(Stream& s, const PoolCall& call) {
  launch::pool_forward(on(s), call);
}
void CudaKernels::pool_backward(Stream& s, const PoolCall& call) {
  launch::pool_backward(on(s), call);
}
void CudaKernels::embedding_bag_forward(Stream& s, const EmbeddingBagCall& call) {
  launch::embedding_bag_forward(on(s), call);
}
void CudaKernels::embedding_bag_update(Stream& s, const EmbeddingBagCall& call) {
  launch::embedding_bag_update(on(s), call);
}
void CudaKernels::interaction_forward(Stream& s, View z, View y, std::int64_t samples,
                                      std::int64_t features, std::int64_t width) {
  launch::interaction_forward(on(s), z, y, samples, features, width);
}
void CudaKernels::interaction_backward(Stream& s, View z, View dy, View dz, std::int64_t samples,
                                       std::int64_t features, std::int64_t width) {
  launch::interaction_backward(on(s), z, dy, dz, samples, features, width);
}
void CudaKernels::binary_loss(Stream& s, View logits, View targets, View losses, View dlogits,
                              std::int64_t samples, float scale) {
  launch::binary_loss(on(s), logits, targets, losses, dlogits, samples, scale);
}
}  // namespace stepcast::runtime
