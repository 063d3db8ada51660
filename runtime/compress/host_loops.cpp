#include <algorithm>
#include <array>
#include <vector>

#include "runtime/compress/host_compress_kernels.hpp"

namespace stepcast::runtime {
namespace {
void encode_block(BlockFormat format, float* x, std::int64_t count, std::uint32_t* words) {
  std::uint32_t* data = words + 1;
  std::fill_n(data, words_per_block(format) - 1, 0u);
  if (format == BlockFormat::sign) {
    // Lane by lane, then by halves: the order in which a warp adds, so that host and device agree
    // bit for bit.
    std::array<float, kLanes> sums{};
    for (std::int64_t i = 0; i < count; ++i)
      sums[static_cast<std::size_t>(i % kLanes)] += std::fabs(x[i]);
    for (int step = kLanes / 2; step > 0; step /= 2)
      for (int lane = 0; lane < step; ++lane)
        sums[static_cast<std::size_t>(lane)] += sums[static_cast<std::size_t>(lane + step)];
    const float scale = sums[0] / static_cast<float>(count);
    words[0] = bits_of(scale);
    for (std::int64_t i = 0; i < count; ++i) {
      data[i / 32] |= (bits_of(x[i]) >> 31) << (i % 32);
      x[i] -= signed_scale(data[i / 32], static_cast<int>(i % 32), scale);
    }
    return;
  }
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, magnitude_bits(x[i]));
  const float scale = block_scale(format, largest);
  words[0] = bits_of(scale);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint8_t byte = quantised(format, x[i], scale);
    data[i / 4] |= static_cast<std::uint32_t>(byte) << (8 * (i % 4));
    x[i] -= dequantised(format, byte, scale);
  }
}
void add_block(BlockFormat format, const std::uint32_t* words, std::int64_t count, float* g) {
  const float scale = float_of_bits(words[0]);
  const std::uint32_t* data = words + 1;
  for (std::int64_t i = 0; i < count; ++i)
    g[i] += format == BlockFormat::sign
                ? signed_scale(data[i / 32], static_cast<int>(i % 32), scale)
                : dequantised(format, byte_of(data[i / 4], static_cast<int>(i % 4)), scale);
}
/// Magnitude (as bits) of the kept-th largest element, and how many elements of exactly that
/// magnitude are kept.
struct Threshold {
  std::uint32_t bits;
  std::int64_t ties;
};
Threshold threshold_of(const float* x, std::int64_t n, std::int64_t kept) {
  // Radix select in two digits of 16 and 15 bits.
  std::vector<std::int64_t> counts(65536);
  for (std::int64_t i = 0; i < n; ++i) ++counts[magnitude_bits(x[i]) >> 15];
  std::size_t digit = counts.size() - 1;
  std::int64_t left = kept;
  while (counts[digit] < left) left -= counts[digit--];
  const auto upper = static_cast<std::uint32_t>(digit);
  counts.assign(32768, 0);
  for (std::int64_t i = 0; i < n; ++i)
    if (magnitude_bits(x[i]) >> 15 == upper) ++counts[magnitude_bits(x[i]) & 0x7fffu];
  digit = counts.size() - 1;
  while (counts[digit] < left) left -= counts[digit--];
  return {upper << 15 | static_cast<std::uint32_t>(digit), left};
}
}  // namespace

void HostCompressKernels::add_gradient(Stream& stream, View g, View x, std::int64_t n,
                                       bool has_feedback) {
  enqueue_(stream, [from = g.as<float>(), to = x.as<float>(), n, has_feedback] {
    if (!has_feedback)
      std::copy_n(from, n, to);
    else
      for (std::int64_t i = 0; i < n; ++i) to[i] += from[i];
  });
}
void HostCompressKernels::encode_cast(Stream& stream, View x, View payload, float factor,
                                      std::int64_t n) {
  const bool is_bf16 = payload.precision == Precision::bf16;
  enqueue_(stream, [x = x.as<float>(), to = payload.as<std::uint16_t>(), factor, n, is_bf16] {
    for (std::int64_t i = 0; i < n; ++i) {
      to[i] = is_bf16 ? bf16_of(x[i] * factor) : fp16_of(x[i] * factor);
      x[i] -= (is_bf16 ? float_of_bf16(to[i]) : float_of_fp16(to[i])) / factor;
    }
  });
}
void HostCompressKernels::decode_cast(Stream& stream, View payload, View g, float factor,
                                      std::int64_t n) {
  const bool is_bf16 = payload.precision == Precision::bf16;
  enqueue_(stream, [from = payload.as<std::uint16_t>(), g = g.as<float>(), factor, n, is_bf16] {
    for (std::int64_t i = 0; i < n; ++i)
      g[i] = factor * (is_bf16 ? float_of_bf16(from[i]) : float_of_fp16(from[i]));
  });
}
void HostCompressKernels::encode_blocks(Stream& stream, BlockFormat format, View x, View payload,
                                        std::int64_t n) {
  enqueue_(stream, [format, x = x.as<float>(), words = payload.as<std::uint32_t>(), n] {
    for (std::int64_t block = 0; block < blocks_of(n); ++block)
      encode_block(format, x + block * kBlock, std::min(kBlock, n - block * kBlock),
                   words + block * words_per_block(format));
  });
}
void HostCompressKernels::decode_blocks(Stream& stream, BlockFormat format, View payloads,
                                        int ranks, View g, std::int64_t n) {
  enqueue_(stream, [format, words = payloads.as<std::uint32_t>(), ranks, g = g.as<float>(), n] {
    std::fill_n(g, n, 0.0f);
    for (std::int64_t block = 0; block < blocks_of(n); ++block)
      for (int rank = 0; rank < ranks; ++rank)
        add_block(format, words + (rank * blocks_of(n) + block) * words_per_block(format),
                  std::min(kBlock, n - block * kBlock), g + block * kBlock);
  });
}
void HostCompressKernels::encode_top_k(Stream& stream, View x, View payload, View /*workspace*/,
                                       std::int64_t n, std::int64_t kept) {
  enqueue_(stream, [x = x.as<float>(), words = payload.as<std::uint32_t>(), n, kept] {
    Threshold threshold = threshold_of(x, n, kept);
    std::int64_t place = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint32_t magnitude = magnitude_bits(x[i]);
      if (magnitude < threshold.bits || (magnitude == threshold.bits && threshold.ties-- <= 0))
        continue;
      words[place] = static_cast<std::uint32_t>(i);
      words[kept + place++] = bits_of(x[i]);
      x[i] = 0.0f;
    }
  });
}
void HostCompressKernels::decode_top_k(Stream& stream, View payloads, int ranks, View g,
                                       std::int64_t n, std::int64_t kept) {
  enqueue_(stream, [words = payloads.as<std::uint32_t>(), ranks, g = g.as<float>(), n, kept] {
    std::fill_n(g, n, 0.0f);
    for (int rank = 0; rank < ranks; ++rank)
      for (std::int64_t i = 0; i < kept; ++i)
        g[words[2 * kept * rank + i]] += float_of_bits(words[2 * kept * rank + kept + i]);
  });
}
void HostCompressKernels::encode_random_k(Stream& stream, View x, View payload, std::int64_t n,
                                          std::int64_t kept, std::uint64_t seed) {
  enqueue_(stream, [x = x.as<float>(), values = payload.as<float>(), n, kept, seed] {
    for (std::int64_t i = 0; i < kept; ++i) {
      float& chosen = x[random_index(seed, i, n, kept)];
      values[i] = chosen;
      chosen = 0.0f;
    }
  });
}
void HostCompressKernels::decode_random_k(Stream& stream, View payload, View g, float factor,
                                          std::int64_t n, std::int64_t kept, std::uint64_t seed) {
  enqueue_(stream, [values = payload.as<float>(), g = g.as<float>(), factor, n, kept, seed] {
    std::fill_n(g, n, 0.0f);
    for (std::int64_t i = 0; i < kept; ++i) g[random_index(seed, i, n, kept)] = factor * values[i];
  });
}
}  // namespace stepcast::runtime
