#include <cstring>
#include <vector>

#include "runtime/cpu/cpu_kernels.hpp"
#include "runtime/cpu/cpu_stream.hpp"
#include "runtime/cpu/sgemm.hpp"

namespace stepcast::runtime {

void CpuKernels::interaction_forward(Stream& stream, View z, View y, std::int64_t samples,
                                     std::int64_t features, std::int64_t width) {
  cpu(stream).enqueue([=] {
    const std::int64_t pairs = features * (features - 1) / 2;
    std::vector<float> products(static_cast<std::size_t>(features * features));
    for (std::int64_t sample = 0; sample < samples; ++sample) {
      const float* vectors = f32(z) + sample * features * width;
      float* out = f32(y) + sample * (width + pairs);
      std::memcpy(out, vectors, static_cast<std::size_t>(width) * sizeof(float));
      sgemm(false, true, features, features, width, 1, vectors, width, vectors, width, 0,
            products.data(), features);
      out += width;
      for (std::int64_t i = 1; i < features; ++i)
        for (std::int64_t j = 0; j < i; ++j)
          *out++ = products[static_cast<std::size_t>(i * features + j)];
    }
  });
}
/// With G the symmetric matrix of the pairs' gradients: dz = G z, and the first vector's own copy
/// beside.
void CpuKernels::interaction_backward(Stream& stream, View z, View dy, View dz,
                                      std::int64_t samples, std::int64_t features,
                                      std::int64_t width) {
  cpu(stream).enqueue([=] {
    const std::int64_t pairs = features * (features - 1) / 2;
    std::vector<float> gradient(static_cast<std::size_t>(features * features), 0.0f);
    for (std::int64_t sample = 0; sample < samples; ++sample) {
      const float* in = f32(dy) + sample * (width + pairs);
      const float* pair = in + width;
      for (std::int64_t i = 1; i < features; ++i)
        for (std::int64_t j = 0; j < i; ++j, ++pair)
          gradient[static_cast<std::size_t>(i * features + j)] =
              gradient[static_cast<std::size_t>(j * features + i)] = *pair;
      float* out = f32(dz) + sample * features * width;
      sgemm(false, false, features, width, features, 1, gradient.data(), features,
            f32(z) + sample * features * width, width, 0, out, width);
      for (std::int64_t i = 0; i < width; ++i) out[i] += in[i];
    }
  });
}
}  // namespace stepcast::runtime
