#include "runtime/kernels/loss.cuh"

#include "runtime/kernels/launch.hpp"

namespace stepcast::runtime::launch {
namespace {
unsigned blocks(std::int64_t rows) { return static_cast<unsigned>(rows); }
}  // namespace
void loss_forward(CudaStream stream, View logits, View targets, View losses, std::int64_t rows,
                  std::int64_t width, std::int64_t valid) {
  by_precision(logits.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((loss_forward_kernel<T>), blocks(rows), kThreads, 0, stream, logits.as<T>(),
                    targets.as<int>(), losses.as<float>(), width, valid);
  });
}
void split_loss_max(CudaStream stream, View logits, View maxima, std::int64_t rows,
                    std::int64_t width, std::int64_t valid) {
  by_precision(logits.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((split_max_kernel<T>), blocks(rows), kThreads, 0, stream, logits.as<T>(),
                    maxima.as<float>(), width, valid);
  });
}
void split_loss_sum(CudaStream stream, View logits, View targets, View maxima, View sums,
                    std::int64_t rows, std::int64_t width, std::int64_t first, std::int64_t valid) {
  by_precision(logits.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((split_sum_kernel<T>), blocks(rows), kThreads, 0, stream, logits.as<T>(),
                    targets.as<int>(), maxima.as<float>(), sums.as<float>(), width, first, valid);
  });
}
void split_loss_finish(CudaStream stream, View logits, View sums, View losses, std::int64_t rows,
                       std::int64_t width, std::int64_t valid) {
  by_precision(logits.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((split_finish_kernel<T>), blocks(rows), kThreads, 0, stream, logits.as<T>(),
                    sums.as<float>(), losses.as<float>(), width, valid);
  });
}
void split_loss_backward(CudaStream stream, View probabilities, View targets, float scale,
                         std::int64_t rows, std::int64_t width, std::int64_t first) {
  by_precision(probabilities.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((loss_backward_kernel<T>), grid_of(rows * width), kThreads, 0, stream,
                    probabilities.as<T>(), targets.as<int>(), scale, rows, width, first);
  });
}
void binary_loss(CudaStream stream, View logits, View targets, View losses, View dlogits,
                 std::int64_t samples, float scale) {
  by_precision(logits.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((binary_loss_kernel<T>), grid_of(samples), kThreads, 0, stream, logits.as<T>(),
                    targets.as<float>(), losses.as<float>(), dlogits.as<T>(), samples, scale);
  });
}
}  // namespace stepcast::runtime::launch
