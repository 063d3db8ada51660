#include "runtime/kernels/elementwise.cuh"

#include "runtime/kernels/launch.hpp"

namespace stepcast::runtime::launch {
void activation_forward(CudaStream stream, const ActivationCall& c) {
  const std::int64_t elements = c.rows * c.width;
  by_precision(c.x.precision, [&](auto zero) {
    using T = decltype(zero);
    if (c.kind == ActivationKind::swiglu)
      STEPCAST_LAUNCH((swiglu_kernel<T>), grid_of(elements), kThreads, 0, stream, c.x.as<T>(),
                      c.bias.as<T>(), c.y.as<T>(), elements, c.width);
    else
      STEPCAST_LAUNCH((pointwise_kernel<T>), grid_of(elements), kThreads, 0, stream,
                      c.kind == ActivationKind::gelu, c.x.as<T>(), c.bias.as<T>(), c.y.as<T>(),
                      elements, c.width);
  });
}
void activation_backward(CudaStream stream, const ActivationCall& c) {
  const std::int64_t elements = c.rows * c.width;
  by_precision(c.x.precision, [&](auto zero) {
    using T = decltype(zero);
    if (c.kind == ActivationKind::swiglu)
      STEPCAST_LAUNCH((swiglu_back_kernel<T>), grid_of(elements), kThreads, 0, stream, c.x.as<T>(),
                      c.bias.as<T>(), c.dy.as<T>(), c.dx.as<T>(), elements, c.width);
    else
      STEPCAST_LAUNCH((pointwise_back_kernel<T>), grid_of(elements), kThreads, 0, stream,
                      c.kind == ActivationKind::gelu, c.x.as<T>(), c.bias.as<T>(), c.dy.as<T>(),
                      c.dx.as<T>(), elements, c.width);
  });
}
void add(CudaStream stream, View a, View b, View bias, View y, std::int64_t rows,
         std::int64_t width) {
  by_precision(y.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((add_kernel<T>), grid_of(rows * width), kThreads, 0, stream, a.as<T>(),
                    b.as<T>(), bias.as<T>(), y.as<T>(), rows * width, width);
  });
}
void add_bias(CudaStream stream, View x, View bias, std::int64_t rows, std::int64_t width) {
  add(stream, x, {}, bias, x, rows, width);
}
void accumulate(CudaStream stream, View x, View y, std::int64_t elements) {
  by_precision(x.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((accumulate_kernel<T>), grid_of(elements), kThreads, 0, stream, x.as<T>(),
                    y.as<float>(), elements);
  });
}
void column_sum(CudaStream stream, View x, View sums, std::int64_t rows, std::int64_t width) {
  by_precision(x.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((column_sum_kernel<T>), static_cast<unsigned>((width + 31) / 32), kThreads, 0,
                    stream, x.as<T>(), sums.as<float>(), rows, width);
  });
}
void cast(CudaStream stream, View x, View y, std::int64_t elements) {
  by_precision(x.precision, [&](auto from) {
    by_precision(y.precision, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      STEPCAST_LAUNCH((cast_kernel<From, To>), grid_of(elements), kThreads, 0, stream, x.as<From>(),
                      y.as<To>(), elements);
    });
  });
}
void scale(CudaStream stream, View x, float factor, std::int64_t elements) {
  by_precision(x.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((scale_kernel<T>), grid_of(elements), kThreads, 0, stream, x.as<T>(), factor,
                    elements);
  });
}
void rope(CudaStream stream, const RopeCall& c) {
  by_precision(c.x.precision, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t tokens = c.batch * c.length;
    STEPCAST_LAUNCH((rope_kernel<T>), grid_of(tokens * c.heads * c.head_dim / 2), kThreads, 0,
                    stream, c.x.as<T>(), tokens, c.length, c.heads, c.head_dim, c.row, c.base,
                    c.is_backward ? -1.0f : 1.0f);
  });
}
void pack_qkv(CudaStream stream, View dq, View dk, View dv, View dqkv, std::int64_t rows,
              std::int64_t q, std::int64_t kv) {
  by_precision(dqkv.precision, [&](auto zero) {
    using T = decltype(zero);
    STEPCAST_LAUNCH((pack_qkv_kernel<T>), grid_of(rows * (q + 2 * kv)), kThreads, 0, stream,
                    dq.as<T>(), dk.as<T>(), dv.as<T>(), dqkv.as<T>(), rows, q, kv);
  });
}
}  // namespace stepcast::runtime::launch
