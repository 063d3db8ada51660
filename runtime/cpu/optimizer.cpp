#include "runtime/cpu/clones.hpp"
#include "runtime/cpu/cpu_kernels.hpp"
#include "runtime/cpu/cpu_stream.hpp"

namespace stepcast::runtime {
namespace {
/// Partial sums of 4096 squares in fp32, added up in double: a billion small squares must not
/// vanish beside their sum.
constexpr std::int64_t kChunk = 4096;
STEPCAST_CLONES
float squares_of(const float* x, std::int64_t n) {
  float sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
  return sum;
}
STEPCAST_CLONES
void multiply(float* x, float factor, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) x[i] *= factor;
}
STEPCAST_CLONES
void adam_update(float* w, const float* g, float* m, float* v, std::int64_t n, float beta1,
                 float beta2, float rate, float root_correction, float epsilon, float keep) {
  for (std::int64_t i = 0; i < n; ++i) {
    m[i] = beta1 * m[i] + (1.0f - beta1) * g[i];
    v[i] = beta2 * v[i] + (1.0f - beta2) * g[i] * g[i];
    w[i] = keep * w[i] - rate * m[i] / (std::sqrt(v[i]) * root_correction + epsilon);
  }
}
STEPCAST_CLONES
void sgd_update(float* w, const float* g, float* velocity, std::int64_t n, float rate,
                float momentum, float decay) {
  for (std::int64_t i = 0; i < n; ++i) {
    velocity[i] = momentum * velocity[i] + g[i] + decay * w[i];
    w[i] -= rate * velocity[i];
  }
}
}  // namespace

void CpuKernels::square_sum(Stream& stream, View x, View sum, std::int64_t elements) {
  cpu(stream).enqueue([=] {
    double total = 0;
    for (std::int64_t at = 0; at < elements; at += kChunk)
      total += static_cast<double>(squares_of(f32(x) + at, std::min(kChunk, elements - at)));
    *f32(sum) += static_cast<float>(total);
  });
}
void CpuKernels::clip(Stream& stream, View x, View sum, float limit, std::int64_t elements) {
  cpu(stream).enqueue([=] {
    const float norm = std::sqrt(*f32(sum));
    // Always one pass: a kernel that skips would make the step's time depend on the data.
    multiply(f32(x), norm > limit ? limit / norm : 1.0f, elements);
  });
}
void CpuKernels::adam(Stream& stream, const AdamCall& a) {
  cpu(stream).enqueue([a] {
    const auto step = static_cast<double>(a.step);
    const double correction1 = 1.0 - std::pow(static_cast<double>(a.beta1), step),
                 correction2 = 1.0 - std::pow(static_cast<double>(a.beta2), step);
    adam_update(f32(a.master), f32(a.gradient), f32(a.first), f32(a.second), a.elements, a.beta1,
                a.beta2, a.learning_rate / static_cast<float>(correction1),
                static_cast<float>(1.0 / std::sqrt(correction2)), a.epsilon,
                1.0f - a.learning_rate * a.weight_decay);
  });
}
void CpuKernels::sgd(Stream& stream, const SgdCall& s) {
  cpu(stream).enqueue([s] {
    sgd_update(f32(s.master), f32(s.gradient), f32(s.velocity), s.elements, s.learning_rate,
               s.momentum, s.weight_decay);
  });
}
}  // namespace stepcast::runtime
