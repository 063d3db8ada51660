#include "runtime/kernels/attention.cuh"

#include <cmath>

#include "runtime/kernels/launch.hpp"
#include "sim/core/assert.hpp"

namespace stepcast::runtime::launch {
namespace {
AttentionShapeOf shape_of(const AttentionCall& c) {
  return {c.length,   c.heads,  c.kv_heads,
          c.head_dim, c.causal, 1.0f / std::sqrt(static_cast<float>(c.head_dim))};
}
unsigned tiles_of(std::int64_t length, int rows) {
  return static_cast<unsigned>((length + rows - 1) / rows);
}
/// Two tiles of `rows` (or one, forward) and two of kTile, with padded rows. At head_dim 128 below
/// the 48 KiB that every GPU gives.
std::size_t shared_bytes(const AttentionCall& c, int rows) {
  return sizeof(float) * static_cast<std::size_t>((rows + 2 * kTile) * (c.head_dim + 1));
}

template <class Launch>
void by_dims(std::int64_t head_dim, const Launch& launch) {
  STEPCAST_ASSERT(head_dim <= 128, "the layers check head_dim before they ask for attention");
  if (head_dim <= 32)
    launch(std::integral_constant<int, 1>{});
  else if (head_dim <= 64)
    launch(std::integral_constant<int, 2>{});
  else
    launch(std::integral_constant<int, 4>{});
}
}  // namespace

std::int64_t attention_workspace(const AttentionCall& c) {
  return static_cast<std::int64_t>(sizeof(float)) * c.batch * c.heads * c.length;  // delta
}
void attention_forward(CudaStream stream, const AttentionCall& c) {
  by_precision(c.qkv.precision, [&](auto zero) {
    by_dims(c.head_dim, [&](auto dims) {
      using T = decltype(zero);
      constexpr int kDims = decltype(dims)::value;
      const dim3 grid(tiles_of(c.length, 4 * kForwardRows), static_cast<unsigned>(c.heads),
                      static_cast<unsigned>(c.batch));
      STEPCAST_LAUNCH((attention_forward_kernel<T, kDims>), grid, kAttentionThreads,
                      shared_bytes(c, 4 * kForwardRows), stream, shape_of(c), c.qkv.as<T>(),
                      c.y.as<T>(), c.lse.as<float>());
    });
  });
}
void attention_backward(CudaStream stream, const AttentionCall& c) {
  const std::int64_t rows = c.batch * c.length * c.heads;
  const std::size_t shared = shared_bytes(c, 8 * kBackwardRows);
  by_precision(c.qkv.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((attention_delta_kernel<T>), static_cast<unsigned>((rows + 7) / 8), kThreads, 0,
                    stream, shape_of(c), c.y.as<T>(), c.dy.as<T>(), c.workspace.as<float>(), rows);
    by_dims(c.head_dim, [&](auto dims) {
      constexpr int kDims = decltype(dims)::value;
      const unsigned tiles = tiles_of(c.length, 4 * kBackwardRows);
      const dim3 queries(tiles, static_cast<unsigned>(c.heads), static_cast<unsigned>(c.batch));
      const dim3 keys(tiles, static_cast<unsigned>(c.kv_heads), static_cast<unsigned>(c.batch));
      STEPCAST_LAUNCH((attention_dq_kernel<T, kDims>), queries, kAttentionThreads, shared, stream,
                      shape_of(c), c.qkv.as<T>(), c.dy.as<T>(), c.lse.as<float>(),
                      c.workspace.as<float>(), c.dq.as<T>());
      STEPCAST_LAUNCH((attention_dkv_kernel<T, kDims>), keys, kAttentionThreads, shared, stream,
                      shape_of(c), c.qkv.as<T>(), c.dy.as<T>(), c.lse.as<float>(),
                      c.workspace.as<float>(), c.dk.as<T>(), c.dv.as<T>());
    });
  });
}
}  // namespace stepcast::runtime::launch
