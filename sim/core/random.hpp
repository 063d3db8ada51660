#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>

namespace stepcast {
/// splitmix64 finaliser: a stateless hash of a counter. The same (seed, key) always gives the same
/// bits, on any platform and in any order of evaluation, so results do not depend on event order.
/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
constexpr std::uint64_t mixed_bits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}
constexpr std::uint64_t mixed_bits(std::uint64_t a, std::uint64_t b) {
  return mixed_bits(mixed_bits(a) ^ (b * 0xd1342543de82ef95ULL));
}
/// Uniform in (0, 1), never an end point.
constexpr double uniform_from_bits(std::uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1.0p-53;
}
/// Standard normal from one 64-bit key (Box-Muller over two derived uniforms).
inline double normal_from_bits(std::uint64_t key) {
  const double u = uniform_from_bits(mixed_bits(key));
  const double v = uniform_from_bits(mixed_bits(key ^ 0x5bf03635ULL));
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}
}  // namespace stepcast
