#include <algorithm>
#include <cmath>

#include "sim/core/assert.hpp"
#include "sim/graph/gradient_reduce.hpp"
#include "sim/timeline/op_names.hpp"

namespace stepcast {
namespace {
Op stream(std::string_view name, StreamKind kind, std::int64_t read, std::int64_t written,
          int launches = 1) {
  Op op{.name = std::string(name),
        .pass = Pass::optimizer,
        .precision = Precision::fp32,
        .shape = StreamShape{kind, Bytes(read), Bytes(written)}};
  op.eager_launches = op.fused_launches = launches;
  return op;
}
Op gemm(std::string_view name, std::int64_t m, std::int64_t n, std::int64_t k) {
  Op op{.name = std::string(name),
        .pass = Pass::optimizer,
        .precision = Precision::tf32,
        .shape = GemmShape{m, n, k}};
  op.flops = Flops(2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k));
  return op;
}
}  // namespace

/// Amounts of work, per element of N gradients in g bytes; error feedback keeps an fp32 residual
/// (read and written).
///   fp16, bf16   cast: read gN, write 2N; a sum of casts is a cast of sums
///   int8, fp8    a scale per 256 elements (read gN), residual and cast: read (g+4)N, write
///                (1+4)N + 4N/256. Scales differ by rank, so payloads do not add up (Dettmers, ICLR
///                2016) and are gathered, as by PyTorch's hooks of the kind
///                (torch/distributed/algorithms/ddp_comm_hooks/quantization_hooks.py). One scale
///                agreed on first would make them add up (IntSGD, Mishchenko et al., ICLR 2022;
///                FP8-LM, Peng et al., 2023); neither the runtime nor this does so
///   onebit       sign and a scale per 256: read (g+4)N, write N/8 + 4N/256 + 4N      Seide et al.,
///   Interspeech 2014; a block is eight
///                elements a lane of one warp, so its scale needs no pass of its own
///                (runtime/compress/block_codec.hpp)
///   topk         radix select of |g + residual| reads it 4 times (8 bits a pass), gather of kN
///   values and 4-byte indices randomk      indices from a seed shared by the ranks, so that
///   payloads add up: read kN, residual dgc          momentum correction u = m u + g, v += u (read
///   g+8, write 8), threshold from a 1 % sample's radix select, one
///                pass that takes what lies above it (read 4N) and clears it       Lin et al., ICLR
///                2018, algorithm 4 and section 3
///   powersgd     P = MQ, orthogonalise, Q = M'P, M ~ PQ' : three thin GEMMs       Vogels et al.,
///   NeurIPS 2019
CompressedBucket compressed(const CompressionSpec& compression, const GradientBucket& bucket,
                            std::int64_t g, int ranks) {
  const std::int64_t n = bucket.elements;
  const std::int64_t residual = compression.error_feedback ? 4 : 0;  // fp32, read and written
  // Of int8, fp8 and onebit: an fp32 scale per block (runtime/compress/block_codec.hpp; Dettmers,
  // ICLR 2016).
  constexpr std::int64_t kBlock = 256, kScale = 4;  // elements; bytes
  const std::int64_t scales = (n + kBlock - 1) / kBlock * kScale;
  CompressedBucket result;
  result.is_summable = !is_gathered(compression.scheme);
  const auto cast = [&](std::int64_t width) {
    result.payload = Bytes(n * width);
    result.encode = {stream(op::encode, StreamKind::elementwise, g * n, width * n)};
    result.decode = {stream(op::decode, StreamKind::elementwise, width * n, g * n)};
  };
  switch (compression.scheme) {
    case CompressionScheme::none:
      STEPCAST_ASSERT(false, "reduce_bucket asks only for a chosen compressor");
    case CompressionScheme::fp16:
    case CompressionScheme::bf16:
      cast(2);
      break;
    case CompressionScheme::int8:
    case CompressionScheme::fp8:
      result.payload = Bytes(n + scales);
      result.encode = {stream(op::encode, StreamKind::reduction, g * n, scales),
                       stream(op::encode, StreamKind::elementwise, (g + residual) * n,
                              result.payload.value + residual * n)};
      result.decode = {
          stream(op::decode, StreamKind::elementwise, result.payload.value * ranks, g * n)};
      break;
    case CompressionScheme::onebit:
      result.payload = Bytes((n + 7) / 8 + scales);
      result.encode = {stream(op::encode, StreamKind::elementwise, (g + residual) * n,
                              result.payload.value + residual * n)};
      result.decode = {
          stream(op::decode, StreamKind::elementwise, result.payload.value * ranks, g * n)};
      break;
    case CompressionScheme::topk:
    case CompressionScheme::randomk: {
      const bool selects = compression.scheme == CompressionScheme::topk;
      const auto kept =
          std::max<std::int64_t>(1, std::llround(static_cast<double>(n) * compression.ratio));
      result.payload = Bytes(kept * (g + (selects ? 4 : 0)));
      if (selects)
        result.encode.push_back(
            stream(op::encode, StreamKind::reduction, 4 * (g + residual) * n, 4 * kept, 4));
      result.encode.push_back(stream(op::encode, StreamKind::elementwise,
                                     residual > 0 ? (g + residual) * n : g * kept,
                                     residual * n + result.payload.value));
      result.decode = {
          stream(op::decode, StreamKind::elementwise, 0, g * n),  // clear, then scatter
          stream(op::decode, StreamKind::copy, result.payload.value * (selects ? ranks : 1),
                 g * kept * (selects ? ranks : 1))};
      break;
    }
    case CompressionScheme::dgc: {
      const auto kept =
          std::max<std::int64_t>(1, std::llround(static_cast<double>(n) * compression.ratio));
      const std::int64_t sample = std::max<std::int64_t>(1, n / 100);
      result.payload = Bytes(kept * (g + 4));
      result.encode = {
          stream(op::encode, StreamKind::elementwise, (g + 8) * n, 8 * n),
          stream(op::encode, StreamKind::reduction, 4 * 4 * sample, 4, 4),
          stream(op::encode, StreamKind::elementwise, 4 * n, 2 * 4 * kept + result.payload.value)};
      result.decode = {
          stream(op::decode, StreamKind::elementwise, 0, g * n),
          stream(op::decode, StreamKind::copy, result.payload.value * ranks, g * kept * ranks)};
      break;
    }
    case CompressionScheme::powersgd: {
      const std::int64_t rank = compression.rank, plain = n - bucket.matrix_elements;
      result.payload = Bytes(4 * bucket.factor_p + g * plain);
      result.second_payload = Bytes(4 * bucket.factor_q);
      if (bucket.matrix_elements == 0) break;
      // The bucket's matrices as one of the same area: rows = p / r, columns = area / rows.
      const std::int64_t rows = std::max<std::int64_t>(1, bucket.factor_p / rank);
      const std::int64_t columns = std::max<std::int64_t>(1, bucket.matrix_elements / rows);
      result.encode = {stream(op::encode, StreamKind::elementwise,
                              (g + residual) * bucket.matrix_elements, 4 * bucket.matrix_elements),
                       gemm(op::encode, rows, rank, columns)};
      // Gram-Schmidt passes over P once per column of it.
      result.between = {stream(op::encode, StreamKind::reduction, 4 * bucket.factor_p * rank,
                               4 * bucket.factor_p, static_cast<int>(rank)),
                        gemm(op::encode, columns, rank, rows)};
      result.decode = {
          gemm(op::decode, rows, columns, rank),
          stream(op::decode, StreamKind::elementwise, (g + residual) * bucket.matrix_elements,
                 (residual > 0 ? 4 : g) * bucket.matrix_elements)};
      break;
    }
  }
  return result;
}
}  // namespace stepcast
