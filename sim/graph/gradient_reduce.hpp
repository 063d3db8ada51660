#pragma once
#include <vector>

#include "sim/graph/gradient_buckets.hpp"
#include "sim/graph/program_writer.hpp"
#include "sim/graph/stage_context.hpp"

namespace stepcast {
/// Issues the reduction of one bucket on the gradient lane after `after`: all_reduce for plain data
/// parallel, reduce_scatter under ZeRO (followed by an all_reduce across shard groups under HSDP),
/// with the compressor's encode and decode around a smaller message where one is chosen. Nothing is
/// issued for a group of one rank.
void reduce_bucket(const StageContext& context, ProgramWriter& writer, const GradientBucket& bucket,
                   std::vector<int> after);

/// The same without the copy to host memory that an offloaded optimizer needs.
void reduce_on_network(const StageContext& context, ProgramWriter& writer,
                       const GradientBucket& bucket, std::vector<int> after);

/// A share of the entries travels, with or without their indices.
constexpr bool keeps_a_share(CompressionScheme scheme) {
  return scheme == CompressionScheme::topk || scheme == CompressionScheme::randomk ||
         scheme == CompressionScheme::dgc;
}
/// Payloads do not add up, so every rank takes every other's: scales of blocks differ by rank, and
/// so do the places of the largest entries.
constexpr bool is_gathered(CompressionScheme scheme) {
  return scheme == CompressionScheme::int8 || scheme == CompressionScheme::fp8 ||
         scheme == CompressionScheme::onebit || scheme == CompressionScheme::topk ||
         scheme == CompressionScheme::dgc;
}

/// What a compressor makes of a bucket of `elements` gradients of `element_bytes`; `ranks`:
/// payloads that a rank decodes where they do not add up.
struct CompressedBucket {
  Bytes payload;  // one rank's encoded bytes (PowerSGD: both factors and what is not factored)
  bool is_summable =
      true;  // payloads add up element by element; otherwise every rank's payload is gathered
  std::vector<Op> encode, decode;
  /// PowerSGD's second factor: computed from the reduced first one and reduced after it.
  Bytes second_payload;
  std::vector<Op> between;
};
CompressedBucket compressed(const CompressionSpec& compression, const GradientBucket& bucket,
                            std::int64_t element_bytes, int ranks);
}  // namespace stepcast
