#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

/// Narrow number formats by their bits, one source for host and device: a payload encoded by either
/// is decoded by the other bit for bit. Rounding is to nearest, ties to even; finite values beyond
/// the range saturate, infinities too (a gradient of infinite norm is found by the caller's loss
/// check); NaN stays NaN.
#ifdef __CUDACC__
#define STEPCAST_HD __host__ __device__ inline
#else
#define STEPCAST_HD inline
#endif

namespace stepcast::runtime {

STEPCAST_HD std::uint32_t bits_of(float value) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(value);
#else
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
#endif
}
STEPCAST_HD float float_of_bits(std::uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
#endif
}
STEPCAST_HD std::uint32_t magnitude_bits(float value) { return bits_of(value) & 0x7fffffffu; }

/// bfloat16: the upper half of a float, 8 bits of exponent, 7 of mantissa. Keeps infinity.
STEPCAST_HD std::uint16_t bf16_of(float value) {
  const std::uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return static_cast<std::uint16_t>((bits >> 16) | 0x40u);  // quiet NaN
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
STEPCAST_HD float float_of_bf16(std::uint16_t half) {
  return float_of_bits(static_cast<std::uint32_t>(half) << 16);
}

/// IEEE binary16: 5 bits of exponent, 10 of mantissa, largest 65504.
/// Without branches on the value: gradients lie on both sides of the subnormal limit, which no
/// branch predictor learns (one rank's encode took four times as long).
STEPCAST_HD std::uint16_t fp16_of(float value) {
  const std::uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffffu,
                      sign = (bits >> 16) & 0x8000u;
  // Below 2^-14 a multiple of 2^-24, which is the last place of floats in [0.5, 1): the addition
  // rounds to it.
  const std::uint32_t subnormal = bits_of(float_of_bits(magnitude) + 0.5f) - 0x3f000000u;
  // Rebias 127 -> 15 and round away 13 bits of mantissa; a carry moves into the exponent, as it
  // should.
  const std::uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  std::uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
  result = magnitude >= 0x477ff000u ? 0x7bffu : result;  // 65520 and above would be infinity
  result = magnitude > 0x7f800000u ? 0x7e00u : result;   // not a number
  return static_cast<std::uint16_t>(sign | result);
}
STEPCAST_HD float float_of_fp16(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16, exponent = (half >> 10) & 0x1fu,
                      mantissa = half & 0x3ffu;
  const std::uint32_t subnormal =
      bits_of(static_cast<float>(mantissa) * 5.9604644775390625e-8f);  // 2^-24
  std::uint32_t magnitude = ((exponent + 112u) << 23) | (mantissa << 13);
  magnitude = exponent == 0 ? subnormal : magnitude;
  magnitude = exponent == 31 ? 0x7f800000u | (mantissa << 13) : magnitude;
  return float_of_bits(sign | magnitude);
}

/// fp8 E4M3 (Micikevicius et al., "FP8 formats for deep learning", 2022): bias 7, largest 448, no
/// infinity, NaN = 0x7f.
inline constexpr float kE4M3Largest = 448.0f;
STEPCAST_HD std::uint8_t e4m3_of(float value) {
  const std::uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffffu,
                      sign = (bits >> 24) & 0x80u;
  // Below 2^-6 a multiple of 2^-9, the last place of floats in [2^14, 2^15).
  const std::uint32_t subnormal = bits_of(float_of_bits(magnitude) + 16384.0f) - 0x46800000u;
  const std::uint32_t normal =
      (magnitude - 0x3c000000u + 0x7ffffu + ((magnitude >> 20) & 1u)) >> 20;  // bias 127 -> 7
  std::uint32_t result = magnitude < 0x3c800000u ? subnormal : normal;
  result = magnitude >= 0x43e80000u ? 0x7eu : result;  // 464 = midway beyond 448
  result = magnitude > 0x7f800000u ? 0x7fu : result;   // not a number
  return static_cast<std::uint8_t>(sign | result);
}
STEPCAST_HD float float_of_e4m3(std::uint8_t eight) {
  const std::uint32_t sign = static_cast<std::uint32_t>(eight & 0x80u) << 24,
                      exponent = (eight >> 3) & 0xfu, mantissa = eight & 7u;
  const std::uint32_t subnormal = bits_of(static_cast<float>(mantissa) * 0.001953125f);  // 2^-9
  std::uint32_t magnitude = ((exponent + 120u) << 23) | (mantissa << 20);
  magnitude = exponent == 0 ? subnormal : magnitude;
  magnitude = exponent == 15 && mantissa == 7 ? 0x7fc00000u : magnitude;
  return float_of_bits(sign | magnitude);
}
}  // namespace stepcast::runtime
