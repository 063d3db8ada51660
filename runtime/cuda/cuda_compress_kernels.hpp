#pragma once
#include "runtime/compress/compress_kernels.hpp"

namespace stepcast::runtime {
/// The compressors' loops on the GPU (runtime/kernels/compress.cuh, power.cuh).
class CudaCompressKernels final : public CompressKernels {
 public:
  std::int64_t top_k_workspace(std::int64_t n) const override;
  void add_gradient(Stream& stream, View g, View x, std::int64_t n, bool has_feedback) override;
  void encode_cast(Stream& stream, View x, View payload, float factor, std::int64_t n) override;
  void decode_cast(Stream& stream, View payload, View g, float factor, std::int64_t n) override;
  void encode_blocks(Stream& stream, BlockFormat format, View x, View payload,
                     std::int64_t n) override;
  void decode_blocks(Stream& stream, BlockFormat format, View payloads, int ranks, View g,
                     std::int64_t n) override;
  void encode_top_k(Stream& stream, View x, View payload, View workspace, std::int64_t n,
                    std::int64_t kept) override;
  void decode_top_k(Stream& stream, View payloads, int ranks, View g, std::int64_t n,
                    std::int64_t kept) override;
  void encode_random_k(Stream& stream, View x, View payload, std::int64_t n, std::int64_t kept,
                       std::uint64_t seed) override;
  void decode_random_k(Stream& stream, View payload, View g, float factor, std::int64_t n,
                       std::int64_t kept, std::uint64_t seed) override;
  void power_start(Stream& stream, View q, const PowerShape& shape, std::uint64_t seed) override;
  void power_project(Stream& stream, View x, View q, View p, const PowerShape& shape) override;
  void power_orthonormalise(Stream& stream, View p, const PowerShape& shape) override;
  void power_back(Stream& stream, View x, View p, View q, const PowerShape& shape) override;
  void power_expand(Stream& stream, View p, View q, View g, const PowerShape& shape) override;
};
}  // namespace stepcast::runtime
