#include "runtime/kernels/embedding.cuh"

#include "runtime/kernels/launch.hpp"

namespace stepcast::runtime::launch {
void embedding_forward(CudaStream stream, View ids, View table, View y, std::int64_t tokens,
                       std::int64_t width, std::int64_t first_row, std::int64_t rows) {
  by_precision(y.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((embedding_forward_kernel<T>), grid_of(tokens * width), kThreads, 0, stream,
                    ids.as<int>(), table.as<T>(), y.as<T>(), tokens, width, first_row, rows);
  });
}
void embedding_backward(CudaStream stream, View ids, View dy, View dtable, std::int64_t tokens,
                        std::int64_t width, std::int64_t first_row, std::int64_t rows) {
  by_precision(dy.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((embedding_backward_kernel<T>), static_cast<unsigned>((rows + 7) / 8), kThreads,
                    0, stream, ids.as<int>(), dy.as<T>(), dtable.as<float>(), tokens, width,
                    first_row, rows);
  });
}
void position_forward(CudaStream stream, View x, View positions, View y, std::int64_t batch,
                      std::int64_t length, std::int64_t width) {
  by_precision(y.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((position_forward_kernel<T>), grid_of(batch * length * width), kThreads, 0,
                    stream, x.as<T>(), positions.as<T>(), y.as<T>(), batch * length * width,
                    length * width);
  });
}
void position_backward(CudaStream stream, View dy, View dpositions, std::int64_t batch,
                       std::int64_t length, std::int64_t width) {
  by_precision(dy.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((position_backward_kernel<T>), grid_of(length * width), kThreads, 0, stream,
                    dy.as<T>(), dpositions.as<float>(), batch, length * width);
  });
}
void embedding_bag_forward(CudaStream stream, const EmbeddingBagCall& e) {
  by_precision(e.y.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((bag_forward_kernel<T>), grid_of(e.samples * e.width), kThreads, 0, stream,
                    e.indices.as<int>(), e.table.as<float>(), e.y.as<T>(), e.samples, e.pooling,
                    e.width);
  });
}
void embedding_bag_update(CudaStream stream, const EmbeddingBagCall& e) {
  by_precision(e.dy.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((bag_update_kernel<T>), grid_of(e.samples * e.pooling * e.width), kThreads, 0,
                    stream, e.indices.as<int>(), e.table.as<float>(), e.dy.as<T>(), e.samples,
                    e.pooling, e.width, e.learning_rate);
  });
}
void interaction_forward(CudaStream stream, View z, View y, std::int64_t samples,
                         std::int64_t features, std::int64_t width) {
  by_precision(z.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((interaction_forward_kernel<T>), static_cast<unsigned>(samples), kThreads, 0,
                    stream, z.as<T>(), y.as<T>(), static_cast<int>(features), width);
  });
}
void interaction_backward(CudaStream stream, View z, View dy, View dz, std::int64_t samples,
                          std::int64_t features, std::int64_t width) {
  by_precision(z.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((interaction_backward_kernel<T>), static_cast<unsigned>(samples), kThreads, 0,
                    stream, z.as<T>(), dy.as<T>(), dz.as<T>(), static_cast<int>(features), width);
  });
}
}  // namespace stepcast::runtime::launch
