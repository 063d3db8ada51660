#pragma once
#include "runtime/compress/number_formats.hpp"

/// Arithmetic of the compressors that both the host loops and the CUDA kernels call.
/// Quantised payloads are blocks of kBlock elements, each with its own scale in front, in 4-byte
/// words:
///   int8, fp8   scale | 64 words of four elements        32.5 bytes per 32 elements: 3.94 times
///   smaller than fp32 sign        scale | 8 words of 32 signs              36 bytes per 256
///   elements: 28.4 times smaller
/// The last block is padded with zeros. 256: one warp reads a block as 8 elements per lane.
namespace stepcast::runtime {

enum class BlockFormat : std::uint8_t { int8, fp8, sign };
inline constexpr std::int64_t kBlock = 256;
inline constexpr int kLanes = 32, kPerLane = 8;
inline constexpr float kInt8Largest = 127.0f;

STEPCAST_HD constexpr std::int64_t words_per_block(BlockFormat format) {
  return format == BlockFormat::sign ? 9 : 65;
}
STEPCAST_HD constexpr std::int64_t blocks_of(std::int64_t elements) {
  return (elements + kBlock - 1) / kBlock;
}

/// Scale of a block whose largest magnitude (as bits, so that NaN wins over every number) is given.
STEPCAST_HD float block_scale(BlockFormat format, std::uint32_t largest) {
  return float_of_bits(largest) / (format == BlockFormat::int8 ? kInt8Largest : kE4M3Largest);
}
/// One element in units of the block's scale, as a byte. A block of zeros has scale 0 and is all
/// zeros.
STEPCAST_HD std::uint8_t quantised(BlockFormat format, float value, float scale) {
  const float units = scale > 0.0f ? value / scale : 0.0f;
  if (format == BlockFormat::fp8) return e4m3_of(units);
  float rounded = rintf(units);  // ties to even, the default mode of both sides
  rounded = rounded > kInt8Largest    ? kInt8Largest
            : rounded < -kInt8Largest ? -kInt8Largest
                                      : rounded;
  return static_cast<std::uint8_t>(static_cast<std::int8_t>(rounded));
}
STEPCAST_HD float dequantised(BlockFormat format, std::uint8_t byte, float scale) {
  return scale * (format == BlockFormat::fp8 ? float_of_e4m3(byte)
                                             : static_cast<float>(static_cast<std::int8_t>(byte)));
}
STEPCAST_HD std::uint8_t byte_of(std::uint32_t word, int index) {
  return static_cast<std::uint8_t>(word >> (8 * index));
}
/// Set bit: negative.
STEPCAST_HD float signed_scale(std::uint32_t word, int bit, float scale) {
  return (word >> bit & 1u) != 0 ? -scale : scale;
}

/// random-k draws one element of each of `kept` equal strata, so indices are distinct, sorted, and
/// every element is as likely. The ranks share the seed, hence the indices. Mixing: splitmix64's
/// finaliser (Steele et al., OOPSLA 2014).
STEPCAST_HD std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}
STEPCAST_HD std::int64_t stratum_begin(std::int64_t stratum, std::int64_t elements,
                                       std::int64_t kept) {
  return stratum * (elements / kept) + (stratum < elements % kept ? stratum : elements % kept);
}
STEPCAST_HD std::int64_t random_index(std::uint64_t seed, std::int64_t stratum,
                                      std::int64_t elements, std::int64_t kept) {
  const std::int64_t begin = stratum_begin(stratum, elements, kept);
  const std::int64_t width = stratum_begin(stratum + 1, elements, kept) - begin;
  // The upper 32 bits times the width: bias below width / 2^32.
  const std::uint64_t draw = mixed(seed ^ mixed(static_cast<std::uint64_t>(stratum))) >> 32;
  return begin + static_cast<std::int64_t>((draw * static_cast<std::uint64_t>(width)) >> 32);
}
/// First factor of PowerSGD: uniform in [-1, 1); any full-rank start will do, the iteration is warm
/// afterwards.
STEPCAST_HD float random_entry(std::uint64_t seed, std::int64_t index) {
  return static_cast<float>(mixed(seed ^ mixed(static_cast<std::uint64_t>(index))) >> 40) *
             (2.0f / 16777216.0f) -
         1.0f;
}
inline constexpr int kLargestRank = 32;  // of PowerSGD: rows of P are kept in registers
/// A column of P counts as dependent on the earlier ones when projecting them out leaves less than
/// this share of its squared norm: (8 * 2^-24)^2 is what rounding in fp32 leaves.
inline constexpr double kVanishingShare = 2.3e-13;
}  // namespace stepcast::runtime
