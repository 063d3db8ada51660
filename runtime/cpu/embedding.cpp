#include <cstring>

#include "runtime/cpu/clones.hpp"
#include "runtime/cpu/cpu_kernels.hpp"
#include "runtime/cpu/cpu_stream.hpp"

namespace stepcast::runtime {
namespace {
std::size_t row_bytes(std::int64_t width) {
  return static_cast<std::size_t>(width) * sizeof(float);
}
STEPCAST_CLONES
void add_row(float* to, const float* from, std::int64_t width) {
  for (std::int64_t i = 0; i < width; ++i) to[i] += from[i];
}
STEPCAST_CLONES
void add_scaled_row(float* to, const float* from, float factor, std::int64_t width) {
  for (std::int64_t i = 0; i < width; ++i) to[i] += factor * from[i];
}
}  // namespace

void CpuKernels::embedding_forward(Stream& stream, View ids, View table, View y,
                                   std::int64_t tokens, std::int64_t width, std::int64_t first_row,
                                   std::int64_t rows) {
  cpu(stream).enqueue([=] {
    for (std::int64_t token = 0; token < tokens; ++token) {
      const std::int64_t row = i32(ids)[token] - first_row;
      float* out = f32(y) + token * width;
      if (row >= 0 && row < rows)
        std::memcpy(out, f32(table) + row * width, row_bytes(width));
      else
        std::memset(out, 0, row_bytes(width));
    }
  });
}
void CpuKernels::embedding_backward(Stream& stream, View ids, View dy, View dtable,
                                    std::int64_t tokens, std::int64_t width, std::int64_t first_row,
                                    std::int64_t rows) {
  cpu(stream).enqueue([=] {
    std::memset(dtable.data, 0, row_bytes(width) * static_cast<std::size_t>(rows));
    for (std::int64_t token = 0; token < tokens; ++token) {
      const std::int64_t row = i32(ids)[token] - first_row;
      if (row >= 0 && row < rows)
        add_row(f32(dtable) + row * width, f32(dy) + token * width, width);
    }
  });
}
void CpuKernels::position_forward(Stream& stream, View x, View positions, View y,
                                  std::int64_t batch, std::int64_t length, std::int64_t width) {
  cpu(stream).enqueue([=] {
    for (std::int64_t sample = 0; sample < batch; ++sample) {
      const std::int64_t at = sample * length * width;
      if (y.data != x.data) std::memcpy(f32(y) + at, f32(x) + at, row_bytes(length * width));
      add_row(f32(y) + at, f32(positions), length * width);
    }
  });
}
void CpuKernels::position_backward(Stream& stream, View dy, View dpositions, std::int64_t batch,
                                   std::int64_t length, std::int64_t width) {
  cpu(stream).enqueue([=] {
    for (std::int64_t sample = 0; sample < batch; ++sample)
      add_row(f32(dpositions), f32(dy) + sample * length * width, length * width);
  });
}

void CpuKernels::embedding_bag_forward(Stream& stream, const EmbeddingBagCall& e) {
  cpu(stream).enqueue([e] {
    std::memset(e.y.data, 0, row_bytes(e.samples * e.width));
    for (std::int64_t i = 0; i < e.samples * e.pooling; ++i)
      add_row(f32(e.y) + i / e.pooling * e.width, f32(e.table) + i32(e.indices)[i] * e.width,
              e.width);
  });
}
void CpuKernels::embedding_bag_update(Stream& stream, const EmbeddingBagCall& e) {
  cpu(stream).enqueue([e] {
    for (std::int64_t i = 0; i < e.samples * e.pooling; ++i)
      add_scaled_row(f32(e.table) + i32(e.indices)[i] * e.width,
                     f32(e.dy) + i / e.pooling * e.width, -e.learning_rate, e.width);
  });
}
}  // namespace stepcast::runtime
