#include "runtime/cuda/cuda_compress_kernels.hpp"

#include "runtime/cuda/cuda_device.hpp"
#include "runtime/kernels/launch.hpp"

namespace stepcast::runtime {
namespace {
CUstream_st* on(Stream& stream) {
  static_cast<CudaDevice&>(stream.device()).use();
  return handle(stream);
}
}  // namespace
std::int64_t CudaCompressKernels::top_k_workspace(std::int64_t n) const {
  return launch::top_k_workspace(n);
}
void CudaCompressKernels::add_gradient(Stream& stream, View g, View x, std::int64_t n,
                                       bool has_feedback) {
  launch::add_gradient(on(stream), g, x, n, has_feedback);
}
void CudaCompressKernels::encode_cast(Stream& stream, View x, View payload, float factor,
                                      std::int64_t n) {
  launch::encode_cast(on(stream), x, payload, factor, n);
}
void CudaCompressKernels::decode_cast(Stream& stream, View payload, View g, float factor,
                                      std::int64_t n) {
  launch::decode_cast(on(stream), payload, g, factor, n);
}
void CudaCompressKernels::encode_blocks(Stream& stream, BlockFormat format, View x, View payload,
                                        std::int64_t n) {
  launch::encode_blocks(on(stream), format, x, payload, n);
}
void CudaCompressKernels::decode_blocks(Stream& stream, BlockFormat format, View payloads,
                                        int ranks, View g, std::int64_t n) {
  launch::decode_blocks(on(stream), format, payloads, ranks, g, n);
}
void CudaCompressKernels::encode_top_k(Stream& stream, View x, View payload, View workspace,
                                       std::int64_t n, std::int64_t kept) {
  launch::encode_top_k(on(stream), x, payload, workspace, n, kept);
}
void CudaCompressKernels::decode_top_k(Stream& stream, View payloads, int ranks, View g,
                                       std::int64_t n, std::int64_t kept) {
  launch::decode_top_k(on(stream), payloads, ranks, g, n, kept);
}
void CudaCompressKernels::encode_random_k(Stream& stream, View x, View payload, std::int64_t n,
                                          std::int64_t kept, std::uint64_t seed) {
  launch::encode_random_k(on(stream), x, payload, n, kept, seed);
}
void CudaCompressKernels::decode_random_k(Stream& stream, View payload, View g, float factor,
                                          std::int64_t n, std::int64_t kept, std::uint64_t seed) {
  launch::decode_random_k(on(stream), payload, g, factor, n, kept, seed);
}
void CudaCompressKernels::power_start(Stream& stream, View q, const PowerShape& shape,
                                      std::uint64_t seed) {
  launch::power_start(on(stream), q, shape, seed);
}
void CudaCompressKernels::power_project(Stream& stream, View x, View q, View p,
                                        const PowerShape& shape) {
  launch::power_project(on(stream), x, q, p, shape);
}
void CudaCompressKernels::power_orthonormalise(Stream& stream, View p, const PowerShape& shape) {
  launch::power_orthonormalise(on(stream), p, shape);
}
void CudaCompressKernels::power_back(Stream& stream, View x, View p, View q,
                                     const PowerShape& shape) {
  launch::power_back(on(stream), x, p, q, shape);
}
void CudaCompressKernels::power_expand(Stream& stream, View p, View q, View g,
                                       const PowerShape& shape) {
  launch::power_expand(on(stream), p, q, g, shape);
}
}  // namespace stepcast::runtime
