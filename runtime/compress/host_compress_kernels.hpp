#pragma once
#include <functional>

#include "runtime/compress/compress_kernels.hpp"

namespace stepcast::runtime {
/// The loops on the host. `enqueue` puts work in a stream's order; a backend whose streams are
/// threads hands over theirs.
class HostCompressKernels final : public CompressKernels {
 public:
  using Enqueue = std::function<void(Stream&, std::function<void()>)>;
  explicit HostCompressKernels(Enqueue enqueue) : enqueue_(std::move(enqueue)) {}

  void add_gradient(Stream&, View g, View x, std::int64_t n, bool has_feedback) override;
  void encode_cast(Stream&, View x, View payload, float factor, std::int64_t n) override;
  void decode_cast(Stream&, View payload, View g, float factor, std::int64_t n) override;
  void encode_blocks(Stream&, BlockFormat, View x, View payload, std::int64_t n) override;
  void decode_blocks(Stream&, BlockFormat, View payloads, int ranks, View g,
                     std::int64_t n) override;
  std::int64_t top_k_workspace(std::int64_t /*n*/) const override { return 0; }
  void encode_top_k(Stream&, View x, View payload, View workspace, std::int64_t n,
                    std::int64_t kept) override;
  void decode_top_k(Stream&, View payloads, int ranks, View g, std::int64_t n,
                    std::int64_t kept) override;
  void encode_random_k(Stream&, View x, View payload, std::int64_t n, std::int64_t kept,
                       std::uint64_t seed) override;
  void decode_random_k(Stream&, View payload, View g, float factor, std::int64_t n,
                       std::int64_t kept, std::uint64_t seed) override;
  void power_start(Stream&, View q, const PowerShape&, std::uint64_t seed) override;
  void power_project(Stream&, View x, View q, View p, const PowerShape&) override;
  void power_orthonormalise(Stream&, View p, const PowerShape&) override;
  void power_back(Stream&, View x, View p, View q, const PowerShape&) override;
  void power_expand(Stream&, View p, View q, View g, const PowerShape&) override;

 private:
  Enqueue enqueue_;
};
}  // namespace stepcast::runtime
