#include "runtime/kernels/compress.cuh"

#include "runtime/kernels/launch.hpp"

namespace stepcast::runtime::launch {
namespace {
void clear(CudaStream stream, View words, std::int64_t n) {
  STEPCAST_LAUNCH((clear_words_kernel), grid_of(n), kThreads, 0, stream, words.as<std::uint32_t>(),
                  n);
}
std::int64_t chunks_of(std::int64_t n) { return (n + kChunk - 1) / kChunk; }
}  // namespace
void add_gradient(CudaStream stream, View g, View x, std::int64_t n, bool has_feedback) {
  STEPCAST_LAUNCH((add_gradient_kernel), grid_of(n), kThreads, 0, stream, g.as<float>(),
                  x.as<float>(), n, has_feedback);
}
void encode_cast(CudaStream stream, View x, View payload, float factor, std::int64_t n) {
  STEPCAST_LAUNCH((encode_cast_kernel), grid_of(n), kThreads, 0, stream, x.as<float>(),
                  payload.as<std::uint16_t>(), factor, n, payload.precision == Precision::bf16);
}
void decode_cast(CudaStream stream, View payload, View g, float factor, std::int64_t n) {
  STEPCAST_LAUNCH((decode_cast_kernel), grid_of(n), kThreads, 0, stream,
                  payload.as<std::uint16_t>(), g.as<float>(), factor, n,
                  payload.precision == Precision::bf16);
}
void encode_blocks(CudaStream stream, BlockFormat format, View x, View payload, std::int64_t n) {
  STEPCAST_LAUNCH((encode_blocks_kernel), static_cast<unsigned>((blocks_of(n) + 7) / 8), kThreads,
                  0, stream, format, x.as<float>(), payload.as<std::uint32_t>(), n);
}
void decode_blocks(CudaStream stream, BlockFormat format, View payloads, int ranks, View g,
                   std::int64_t n) {
  STEPCAST_LAUNCH((decode_blocks_kernel), grid_of(n), kThreads, 0, stream, format,
                  payloads.as<std::uint32_t>(), ranks, g.as<float>(), n);
}
std::int64_t top_k_workspace(std::int64_t n) {
  return static_cast<std::int64_t>(sizeof(TopKState)) +
         chunks_of(n) * 2 * static_cast<std::int64_t>(sizeof(std::uint32_t));
}
void encode_top_k(CudaStream stream, View x, View payload, View workspace, std::int64_t n,
                  std::int64_t kept) {
  auto* state = workspace.as<TopKState>();
  auto* counts = reinterpret_cast<std::uint32_t*>(state + 1);
  const auto chunks = static_cast<unsigned>(chunks_of(n));
  clear(stream, workspace, static_cast<std::int64_t>(sizeof(TopKState) / sizeof(std::uint32_t)));
  for (int digit = 0; digit < kDigits; ++digit) {
    STEPCAST_LAUNCH((top_k_count_kernel), grid_of(n, kChunk), kThreads, 0, stream, x.as<float>(),
                    state, digit, n);
    STEPCAST_LAUNCH((top_k_digit_kernel), 1, kThreads, 0, stream, state, digit,
                    static_cast<std::uint32_t>(kept));
  }
  STEPCAST_LAUNCH((top_k_chunk_kernel), chunks, kThreads, 0, stream, x.as<float>(), state, counts,
                  n);
  STEPCAST_LAUNCH((top_k_scan_kernel), 1, kThreads, 0, stream, counts, chunks_of(n));
  STEPCAST_LAUNCH((top_k_write_kernel), chunks, kThreads, 0, stream, x.as<float>(), state, counts,
                  payload.as<std::uint32_t>(), n, kept);
}
void decode_top_k(CudaStream stream, View payloads, int ranks, View g, std::int64_t n,
                  std::int64_t kept) {
  clear(stream, g, n);
  for (int rank = 0; rank < ranks; ++rank)
    STEPCAST_LAUNCH((top_k_add_kernel), grid_of(kept), kThreads, 0, stream,
                    payloads.as<std::uint32_t>() + 2 * kept * rank, g.as<float>(), kept);
}
void encode_random_k(CudaStream stream, View x, View payload, std::int64_t n, std::int64_t kept,
                     std::uint64_t seed) {
  STEPCAST_LAUNCH((encode_random_k_kernel), grid_of(kept), kThreads, 0, stream, x.as<float>(),
                  payload.as<float>(), n, kept, seed);
}
void decode_random_k(CudaStream stream, View payload, View g, float factor, std::int64_t n,
                     std::int64_t kept, std::uint64_t seed) {
  clear(stream, g, n);
  STEPCAST_LAUNCH((decode_random_k_kernel), grid_of(kept), kThreads, 0, stream, payload.as<float>(),
                  g.as<float>(), factor, n, kept, seed);
}
}  // namespace stepcast::runtime::launch
