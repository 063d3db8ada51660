#include "runtime/kernels/image.cuh"

#include "runtime/kernels/launch.hpp"

namespace stepcast::runtime::launch {
namespace {
void clear(CudaStream stream, float* x, std::int64_t elements) {
  STEPCAST_LAUNCH((clear_kernel), grid_of(elements), kThreads, 0, stream, x, elements);
}
dim3 channel_grid(const BatchNormCall& b) {
  return {static_cast<unsigned>((b.channels + 31) / 32),
          static_cast<unsigned>((b.rows + kBatchNormChunk - 1) / kBatchNormChunk)};
}
}  // namespace
void image_to_columns(CudaStream stream, const ConvShape& shape, View image, View columns) {
  const ConvGeometry g = geometry_of(shape);
  by_precision(image.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((image_to_columns_kernel<T>),
                    grid_of(g.n * g.out_h * g.out_w * g.channels * g.kh * g.kw), kThreads, 0,
                    stream, g, image.as<T>(), columns.as<T>());
  });
}
void columns_to_image(CudaStream stream, const ConvShape& shape, View columns, View image) {
  const ConvGeometry g = geometry_of(shape);
  by_precision(image.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((columns_to_image_kernel<T>), grid_of(g.n * g.h * g.w * g.channels), kThreads,
                    0, stream, g, columns.as<T>(), image.as<T>());
  });
}
void pool_forward(CudaStream stream, const PoolCall& p) {
  by_precision(p.x.precision, [&](auto zero) {
    using T = decltype(zero);
    if (p.is_global_average)
      STEPCAST_LAUNCH((mean_pool_kernel<T>), grid_of(p.n * p.channels), kThreads, 0, stream,
                      p.x.as<T>(), p.y.as<T>(), p.n, p.h * p.w, p.channels);
    else
      STEPCAST_LAUNCH((max_pool_kernel<T>), grid_of(p.n * p.h * p.w * p.channels / 4 + 1), kThreads,
                      0, stream, p.x.as<T>(), p.y.as<T>(), p.indices.as<int>(), p.n, p.h, p.w,
                      p.channels);
  });
}
void pool_backward(CudaStream stream, const PoolCall& p) {
  by_precision(p.dy.precision, [&](auto zero) {
    using T = decltype(zero);
    const unsigned grid = grid_of(p.n * p.h * p.w * p.channels);
    if (p.is_global_average)
      STEPCAST_LAUNCH((mean_pool_back_kernel<T>), grid, kThreads, 0, stream, p.dy.as<T>(),
                      p.dx.as<T>(), p.n, p.h * p.w, p.channels);
    else
      STEPCAST_LAUNCH((max_pool_back_kernel<T>), grid, kThreads, 0, stream, p.dy.as<T>(),
                      p.indices.as<int>(), p.dx.as<T>(), p.n, p.h, p.w, p.channels);
  });
}
void batch_norm_forward(CudaStream stream, const BatchNormCall& b) {
  const float inverse = 1.0f / static_cast<float>(b.rows);
  float *mean = b.mean.as<float>(), *rstd = b.rstd.as<float>();
  clear(stream, mean, b.channels);
  clear(stream, rstd, b.channels);
  by_precision(b.x.precision, [&](auto zero) {
    using T = decltype(zero);
    const float* no_center = nullptr;
    STEPCAST_LAUNCH((channel_moment_kernel<T>), channel_grid(b), kThreads, 0, stream, b.x.as<T>(),
                    no_center, mean, inverse, b.rows, b.channels);
    STEPCAST_LAUNCH((channel_moment_kernel<T>), channel_grid(b), kThreads, 0, stream, b.x.as<T>(),
                    mean, rstd, inverse, b.rows, b.channels);
    STEPCAST_LAUNCH((channel_statistics_kernel), grid_of(b.channels), kThreads, 0, stream, mean,
                    rstd, inverse, b.epsilon, b.channels);
    STEPCAST_LAUNCH((batch_norm_kernel<T>), grid_of(b.rows * b.channels), kThreads, 0, stream,
                    b.x.as<T>(), b.weight.as<T>(), b.bias.as<T>(), mean, rstd, b.y.as<T>(),
                    b.rows * b.channels, b.channels);
  });
}
void batch_norm_backward(CudaStream stream, const BatchNormCall& b, View sums) {
  const float inverse = 1.0f / static_cast<float>(b.rows);
  float* sum = sums.as<float>();
  clear(stream, sum, 2 * b.channels);
  by_precision(b.x.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((batch_norm_sums_kernel<T>), channel_grid(b), kThreads, 0, stream, b.x.as<T>(),
                    b.dy.as<T>(), b.mean.as<float>(), b.rstd.as<float>(), sum, b.rows, b.channels);
    STEPCAST_LAUNCH((batch_norm_back_kernel<T>), grid_of(b.rows * b.channels), kThreads, 0, stream,
                    b.x.as<T>(), b.weight.as<T>(), b.dy.as<T>(), b.mean.as<float>(),
                    b.rstd.as<float>(), sum, b.dx.as<T>(), inverse, b.rows * b.channels,
                    b.channels);
  });
  STEPCAST_LAUNCH((add_sums_kernel), grid_of(b.channels), kThreads, 0, stream, sum,
                  b.dweight.as<float>(), b.dbias.as<float>(), b.channels);
}
}  // namespace stepcast::runtime::launch
