#include <cstring>

#include "runtime/cpu/clones.hpp"
#include "runtime/cpu/cpu_kernels.hpp"
#include "runtime/cpu/cpu_stream.hpp"

namespace stepcast::runtime {
namespace {
STEPCAST_CLONES
void add_rows(const float* a, const float* b, const float* bias, float* y, std::int64_t rows,
              std::int64_t width) {
  for (std::int64_t row = 0; row < rows; ++row, a += width, b += width, y += width)
    for (std::int64_t i = 0; i < width; ++i) y[i] = a[i] + b[i] + bias[i];
}
STEPCAST_CLONES
void add_all(const float* a, const float* b, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
}
STEPCAST_CLONES
void scale_all(float* x, float factor, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) x[i] *= factor;
}
STEPCAST_CLONES
void add_columns(const float* x, float* sums, std::int64_t rows, std::int64_t width) {
  for (std::int64_t row = 0; row < rows; ++row, x += width)
    for (std::int64_t i = 0; i < width; ++i) sums[i] += x[i];
}
}  // namespace

void CpuKernels::add(Stream& stream, View a, View b, View bias, View y, std::int64_t rows,
                     std::int64_t width) {
  cpu(stream).enqueue([=] {
    if (bias)
      add_rows(f32(a), f32(b), f32(bias), f32(y), rows, width);
    else
      add_all(f32(a), f32(b), f32(y), rows * width);
  });
}
void CpuKernels::accumulate(Stream& stream, View x, View y, std::int64_t elements) {
  cpu(stream).enqueue([=] { add_all(f32(x), f32(y), f32(y), elements); });
}
void CpuKernels::column_sum(Stream& stream, View x, View sums, std::int64_t rows,
                            std::int64_t width) {
  cpu(stream).enqueue([=] { add_columns(f32(x), f32(sums), rows, width); });
}
void CpuKernels::cast(Stream& stream, View x, View y, std::int64_t elements) {
  cpu(stream).enqueue(
      [=] { std::memcpy(y.data, x.data, static_cast<std::size_t>(elements) * sizeof(float)); });
}
void CpuKernels::scale(Stream& stream, View x, float factor, std::int64_t elements) {
  cpu(stream).enqueue([=] { scale_all(f32(x), factor, elements); });
}
}  // namespace stepcast::runtime
