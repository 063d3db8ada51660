#pragma once
#include <cstdint>

#include "runtime/compress/block_codec.hpp"
#include "runtime/device/view.hpp"

/// What gradient compressors ask of a device: loops over one flat gradient of n fp32 elements,
/// asynchronous on a stream. `x` is the gradient plus the residual; encode_* turn it into the
/// payload and leave in x what the payload lost.
namespace stepcast::runtime {
class Stream;

/// (rows, cols) matrix M that PowerSGD makes of the gradient; the last row is padded with zeros
/// beyond `elements`.
struct PowerShape {
  std::int64_t rows = 0, cols = 0, elements = 0;
  int rank = 0;
};

class CompressKernels {
 public:
  virtual ~CompressKernels() = default;

  /// x += g, or x = g without error feedback.
  virtual void add_gradient(Stream&, View g, View x, std::int64_t n, bool has_feedback) = 0;
  /// payload = narrow(x * factor), fp16 or bf16 by the view; x -= payload / factor.
  virtual void encode_cast(Stream&, View x, View payload, float factor, std::int64_t n) = 0;
  /// g = payload * factor.
  virtual void decode_cast(Stream&, View payload, View g, float factor, std::int64_t n) = 0;
  /// Blocks with scales, see block_codec.hpp. `payload` holds blocks_of(n) * words_per_block words.
  virtual void encode_blocks(Stream&, BlockFormat, View x, View payload, std::int64_t n) = 0;
  /// g = sum over the payloads of `ranks` ranks, one after another.
  virtual void decode_blocks(Stream&, BlockFormat, View payloads, int ranks, View g,
                             std::int64_t n) = 0;
  /// The `kept` elements of largest magnitude, of equal ones those of lower index: payload = kept
  /// indices (uint32, ascending), then kept values. x is zeroed there.
  virtual std::int64_t top_k_workspace(std::int64_t n) const = 0;  // bytes
  virtual void encode_top_k(Stream&, View x, View payload, View workspace, std::int64_t n,
                            std::int64_t kept) = 0;
  virtual void decode_top_k(Stream&, View payloads, int ranks, View g, std::int64_t n,
                            std::int64_t kept) = 0;
  /// payload = the values at the indices that `seed` draws; x is zeroed there.
  virtual void encode_random_k(Stream&, View x, View payload, std::int64_t n, std::int64_t kept,
                               std::uint64_t seed) = 0;
  /// g = factor * payload at those indices, 0 elsewhere.
  virtual void decode_random_k(Stream&, View payload, View g, float factor, std::int64_t n,
                               std::int64_t kept, std::uint64_t seed) = 0;

  /// q (cols, rank) = random_entry(seed, index).
  virtual void power_start(Stream&, View q, const PowerShape&, std::uint64_t seed) = 0;
  /// p (rows, rank) = M q.
  virtual void power_project(Stream&, View x, View q, View p, const PowerShape&) = 0;
  /// Columns of p made orthonormal by modified Gram-Schmidt; a column that vanishes becomes zero.
  virtual void power_orthonormalise(Stream&, View p, const PowerShape&) = 0;
  /// q (cols, rank) = M' p; then x -= p q'.
  virtual void power_back(Stream&, View x, View p, View q, const PowerShape&) = 0;
  /// g = p q'.
  virtual void power_expand(Stream&, View p, View q, View g, const PowerShape&) = 0;
};
}  // namespace stepcast::runtime
