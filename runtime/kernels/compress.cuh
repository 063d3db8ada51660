#pragma once
#include "runtime/compress/block_codec.hpp"
#include "runtime/kernels/reduce.cuh"

/// Device side of runtime/compress: the same arithmetic as the host loops, payloads equal bit for
/// bit.
namespace stepcast::runtime {

__global__ void add_gradient_kernel(const float* g, float* x, std::int64_t n, bool has_feedback) {
  STEPCAST_EACH(i, n) x[i] = has_feedback ? x[i] + g[i] : g[i];
}
__global__ void encode_cast_kernel(float* x, std::uint16_t* payload, float factor, std::int64_t n,
                                   bool is_bf16) {
  STEPCAST_EACH(i, n) {
    const std::uint16_t half = is_bf16 ? bf16_of(x[i] * factor) : fp16_of(x[i] * factor);
    payload[i] = half;
    x[i] -= (is_bf16 ? float_of_bf16(half) : float_of_fp16(half)) / factor;
  }
}
__global__ void decode_cast_kernel(const std::uint16_t* payload, float* g, float factor,
                                   std::int64_t n, bool is_bf16) {
  STEPCAST_EACH(i, n)
  g[i] = factor * (is_bf16 ? float_of_bf16(payload[i]) : float_of_fp16(payload[i]));
}

/// A warp per block of 256 elements; a lane holds elements lane, lane + 32, ...
__global__ void __launch_bounds__(kThreads)
    encode_blocks_kernel(BlockFormat format, float* x, std::uint32_t* payload, std::int64_t n) {
  const std::int64_t block =
      static_cast<std::int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
  if (block >= blocks_of(n)) return;
  const std::int64_t first = block * kBlock, count = n - first < kBlock ? n - first : kBlock;
  std::uint32_t* words = payload + block * words_per_block(format);
  float value[kPerLane];
#pragma unroll
  for (int j = 0; j < kPerLane; ++j)
    value[j] = lane + 32 * j < count ? x[first + lane + 32 * j] : 0.0f;
  float scale = 0.0f;
  if (format == BlockFormat::sign) {
    for (int j = 0; j < kPerLane; ++j) scale += fabsf(value[j]);
    scale = warp_sum(scale) / static_cast<float>(count);
  } else {
    std::uint32_t largest = 0;
    for (int j = 0; j < kPerLane; ++j)
      largest = magnitude_bits(value[j]) > largest ? magnitude_bits(value[j]) : largest;
    for (int step = 16; step > 0; step /= 2) {
      const std::uint32_t other = __shfl_xor_sync(kAllLanes, largest, step);
      largest = other > largest ? other : largest;
    }
    scale = block_scale(format, largest);
  }
  if (lane == 0) words[0] = bits_of(scale);
#pragma unroll
  for (int j = 0; j < kPerLane; ++j) {
    const bool is_inside = lane + 32 * j < count;
    float decoded = 0.0f;
    if (format == BlockFormat::sign) {
      const std::uint32_t word =
          __ballot_sync(kAllLanes, is_inside && bits_of(value[j]) >> 31 != 0 ? 1 : 0);
      if (lane == 0) words[1 + j] = word;
      decoded = signed_scale(word, lane, scale);
    } else {
      const std::uint8_t byte =
          is_inside ? quantised(format, value[j], scale) : static_cast<std::uint8_t>(0);
      reinterpret_cast<std::uint8_t*>(words + 1)[lane + 32 * j] = byte;
      decoded = dequantised(format, byte, scale);
    }
    if (is_inside) x[first + lane + 32 * j] = value[j] - decoded;
  }
}
__global__ void decode_blocks_kernel(BlockFormat format, const std::uint32_t* payloads, int ranks,
                                     float* g, std::int64_t n) {
  const std::int64_t per_block = words_per_block(format), per_rank = blocks_of(n) * per_block;
  STEPCAST_EACH(i, n) {
    const int inside = static_cast<int>(i % kBlock);
    float sum = 0.0f;
    for (int rank = 0; rank < ranks; ++rank) {
      const std::uint32_t* words = payloads + rank * per_rank + i / kBlock * per_block;
      const float scale = float_of_bits(words[0]);
      sum += format == BlockFormat::sign
                 ? signed_scale(words[1 + inside / 32], inside % 32, scale)
                 : dequantised(format, byte_of(words[1 + inside / 4], inside % 4), scale);
    }
    g[i] = sum;
  }
}

__global__ void encode_random_k_kernel(float* x, float* payload, std::int64_t n, std::int64_t kept,
                                       std::uint64_t seed) {
  STEPCAST_EACH(i, kept) {
    const std::int64_t at = random_index(seed, i, n, kept);
    payload[i] = x[at];
    x[at] = 0.0f;
  }
}
__global__ void decode_random_k_kernel(const float* payload, float* g, float factor, std::int64_t n,
                                       std::int64_t kept, std::uint64_t seed) {
  STEPCAST_EACH(i, kept) g[random_index(seed, i, n, kept)] = factor * payload[i];
}
__global__ void clear_words_kernel(std::uint32_t* words, std::int64_t n) {
  STEPCAST_EACH(i, n) words[i] = 0;
}

/// Top-k. Radix select over the 31 bits of the magnitude in digits of 11, 10 and 10 bits, then a
/// stable compaction.
inline constexpr int kBins = 2048, kChunk = 4096, kDigits = 3;
struct TopKState {
  std::uint32_t bins[kDigits][kBins];
  std::uint32_t prefix;  // upper digits of the threshold, in place
  std::uint32_t left;    // how many elements equal to the threshold (in the digits so far) are kept
};
STEPCAST_HD constexpr int digit_shift(int digit) { return digit == 0 ? 20 : digit == 1 ? 10 : 0; }
STEPCAST_HD constexpr std::uint32_t digit_mask(int digit) { return digit == 0 ? 2047u : 1023u; }

__global__ void __launch_bounds__(kThreads)
    top_k_count_kernel(const float* x, TopKState* state, int digit, std::int64_t n) {
  __shared__ std::uint32_t bins[kBins];
  for (unsigned i = threadIdx.x; i < kBins; i += kThreads) bins[i] = 0;
  __syncthreads();
  const std::uint32_t prefix = state->prefix;
  const int above = digit == 0 ? 31 : digit_shift(digit - 1);
  STEPCAST_EACH(i, n) {
    const std::uint32_t magnitude = magnitude_bits(x[i]);
    if (magnitude >> above == prefix >> above)
      atomicAdd(bins + (magnitude >> digit_shift(digit) & digit_mask(digit)), 1u);
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < kBins; i += kThreads)
    if (bins[i] != 0) atomicAdd(&state->bins[digit][i], bins[i]);
}
/// One block: from the highest bin down, the bin where `left` runs out is the next digit.
__global__ void __launch_bounds__(kThreads)
    top_k_digit_kernel(TopKState* state, int digit, std::uint32_t kept) {
  __shared__ std::uint32_t sums[kThreads];
  constexpr int kEach = kBins / kThreads;
  std::uint32_t sum = 0;
  for (int i = 0; i < kEach; ++i)
    sum += state->bins[digit][kBins - 1 - (static_cast<int>(threadIdx.x) * kEach + i)];
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  std::uint32_t left = digit == 0 ? kept : state->left;
  int part = 0;
  while (sums[part] < left) left -= sums[part++];
  int bin = kBins - 1 - part * kEach;
  while (state->bins[digit][bin] < left) left -= state->bins[digit][bin--];
  state->left = left;
  state->prefix = (digit == 0 ? 0u : state->prefix) | static_cast<std::uint32_t>(bin)
                                                          << digit_shift(digit);
}
/// counts[2 chunk], counts[2 chunk + 1]: elements of the chunk above the threshold, and equal to
/// it.
__global__ void __launch_bounds__(kThreads)
    top_k_chunk_kernel(const float* x, const TopKState* state, std::uint32_t* counts,
                       std::int64_t n) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kChunk;
  int above = 0, equal = 0;
  for (int i = 0; i < kChunk; i += kThreads) {
    const std::int64_t at = first + i + threadIdx.x;
    const std::uint32_t magnitude = at < n ? magnitude_bits(x[at]) : 0u;
    above += __syncthreads_count(at < n && magnitude > state->prefix ? 1 : 0);
    equal += __syncthreads_count(at < n && magnitude == state->prefix ? 1 : 0);
  }
  if (threadIdx.x != 0) return;
  counts[2 * blockIdx.x] = static_cast<std::uint32_t>(above);
  counts[2 * blockIdx.x + 1] = static_cast<std::uint32_t>(equal);
}
/// One block: counts become the sums of the chunks before, each thread a run of chunks.
__global__ void __launch_bounds__(kThreads)
    top_k_scan_kernel(std::uint32_t* counts, std::int64_t chunks) {
  __shared__ std::uint32_t above[kThreads], equal[kThreads];
  const std::int64_t each = (chunks + kThreads - 1) / kThreads, begin = threadIdx.x * each,
                     end = begin + each < chunks ? begin + each : chunks;
  std::uint32_t sum_above = 0, sum_equal = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    sum_above += counts[2 * i];
    sum_equal += counts[2 * i + 1];
  }
  above[threadIdx.x] = sum_above;
  equal[threadIdx.x] = sum_equal;
  __syncthreads();
  sum_above = sum_equal = 0;
  for (unsigned i = 0; i < threadIdx.x; ++i) {
    sum_above += above[i];
    sum_equal += equal[i];
  }
  for (std::int64_t i = begin; i < end; ++i) {
    const std::uint32_t own_above = counts[2 * i], own_equal = counts[2 * i + 1];
    counts[2 * i] = sum_above;
    counts[2 * i + 1] = sum_equal;
    sum_above += own_above;
    sum_equal += own_equal;
  }
}
/// Threads of the block below this one that vote, by warp counts in `shared` (one word per warp).
__device__ __forceinline__ std::uint32_t votes_before(bool vote, std::uint32_t* shared,
                                                      std::uint32_t* total) {
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32,
                 votes = __ballot_sync(kAllLanes, vote ? 1 : 0);
  __syncthreads();
  if (lane == 0) shared[warp] = static_cast<std::uint32_t>(__popc(votes));
  __syncthreads();
  std::uint32_t before = static_cast<std::uint32_t>(__popc(votes & ((1u << lane) - 1u)));
  *total = 0;
  for (unsigned i = 0; i < kThreads / 32; ++i) {
    if (i < warp) before += shared[i];
    *total += shared[i];
  }
  return before;
}
__global__ void __launch_bounds__(kThreads)
    top_k_write_kernel(float* x, const TopKState* state, const std::uint32_t* counts,
                       std::uint32_t* payload, std::int64_t n, std::int64_t kept) {
  __shared__ std::uint32_t shared[kThreads / 32];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kChunk;
  const std::uint32_t threshold = state->prefix, allowed = state->left;
  std::uint32_t ties = counts[2 * blockIdx.x + 1];
  std::uint32_t place = counts[2 * blockIdx.x] + (ties < allowed ? ties : allowed);
  for (int i = 0; i < kChunk; i += kThreads) {
    const std::int64_t at = first + i + threadIdx.x;
    const float value = at < n ? x[at] : 0.0f;
    const std::uint32_t magnitude = magnitude_bits(value);
    std::uint32_t total = 0;
    const bool is_tie = at < n && magnitude == threshold;
    const std::uint32_t tie = ties + votes_before(is_tie, shared, &total);
    ties += total;
    const bool is_kept = at < n && (magnitude > threshold || (is_tie && tie < allowed));
    const std::uint32_t to = place + votes_before(is_kept, shared, &total);
    place += total;
    if (!is_kept) continue;
    payload[to] = static_cast<std::uint32_t>(at);
    payload[kept + to] = bits_of(value);
    x[at] = 0.0f;
  }
}
/// One rank's pairs; indices of a rank are distinct, ranks follow each other on the stream.
__global__ void top_k_add_kernel(const std::uint32_t* payload, float* g, std::int64_t kept) {
  STEPCAST_EACH(i, kept) g[payload[i]] += float_of_bits(payload[kept + i]);
}
}  // namespace stepcast::runtime
