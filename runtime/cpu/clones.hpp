#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

/// A loop function compiled for several vector widths, the widest that the machine has picked when
/// the program loads. Sanitizers instrument the picking itself, which runs before they are ready;
/// they get the plain loop.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define STEPCAST_CLONES \
  __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#define STEPCAST_CLONES
#endif

namespace stepcast::runtime {
/// e^x to 2 units in the last place, in a form that compilers vectorise: 2^n from the exponent's
/// bits times Cephes' polynomial on
/// [-ln 2 / 2, ln 2 / 2] (S. Moshier, Cephes expf). NaN stays NaN; below -87 the result is 0 to
/// 1e-38.
[[gnu::always_inline]] inline float exp_of(float x) {
  const float bounded = x < -87.0f ? -87.0f : (x > 88.0f ? 88.0f : x);
  const float n = std::rint(bounded * 1.44269504f);
  const float f = (bounded - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * f + 1.3981999507e-3f;
  p = p * f + 8.3334519073e-3f;
  p = p * f + 4.1665795894e-2f;
  p = p * f + 1.6666665459e-1f;
  p = p * f + 5.0000001201e-1f;
  p = p * f * f + f + 1.0f;
  const auto exponent = static_cast<std::int32_t>(n);
  return p * std::bit_cast<float>((exponent + 127) << 23);
}
[[gnu::always_inline]] inline float sigmoid_of(float x) { return 1.0f / (1.0f + exp_of(-x)); }
[[gnu::always_inline]] inline float tanh_of(float x) {
  return 1.0f - 2.0f / (1.0f + exp_of(2.0f * x));
}
}  // namespace stepcast::runtime
