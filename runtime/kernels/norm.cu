#include "runtime/kernels/launch.hpp"
#include "runtime/kernels/norm.cuh"

namespace stepcast::runtime::launch {
void norm_forward(CudaStream stream, const NormCall& c) {
  by_precision(c.x.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((norm_forward_kernel<T>), static_cast<unsigned>(c.rows), kThreads, 0, stream,
                    c.kind == NormKind::layernorm, c.x.as<T>(), c.weight.as<T>(), c.bias.as<T>(),
                    c.y.as<T>(), c.mean.as<float>(), c.rstd.as<float>(), c.width);
  });
}
void norm_backward(CudaStream stream, const NormCall& c) {
  by_precision(c.x.precision, [&](auto zero) {
    using T = decltype(zero);
    const bool is_layer = c.kind == NormKind::layernorm;
    STEPCAST_LAUNCH((norm_backward_kernel<T>), static_cast<unsigned>(c.rows), kThreads, 0, stream,
                    is_layer, c.x.as<T>(), c.weight.as<T>(), c.mean.as<float>(), c.rstd.as<float>(),
                    c.dy.as<T>(), c.dx.as<T>(), c.width);
    STEPCAST_LAUNCH((norm_weight_kernel<T>), static_cast<unsigned>((c.width + 31) / 32), kThreads,
                    0, stream, is_layer, c.x.as<T>(), c.mean.as<float>(), c.rstd.as<float>(),
                    c.dy.as<T>(), c.dweight.as<float>(), c.dbias.as<float>(), c.rows, c.width);
  });
}
}  // namespace stepcast::runtime::launch
