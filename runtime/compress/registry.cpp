#include <fmt/format.h>

#include "runtime/compress/schemes.hpp"
#include "sim/core/assert.hpp"
#include "sim/core/result.hpp"

namespace stepcast::runtime {
namespace {
struct Row {
  const char* name;
  CompressorFactory make;
  const char* without_feedback;  // why it fails then
};
constexpr Row kRows[] = {
    {"fp16", new_cast, ""},
    {"bf16", new_cast, ""},
    {"int8", new_blocks, ""},
    {"fp8", new_blocks, ""},
    {"onebit", new_blocks,
     "signs are biased: small gradients are blown up to the block's mean, so the steps never "
     "settle"},
    {"topk", new_top_k, "what is small on a rank is never sent, however long it stays"},
    {"randomk", new_random_k,
     ""},  // scaled by n/k and shared by the ranks it is random coordinate descent
    {"powersgd", new_power_sgd, "directions outside of the factors' span are lost at every step"},
};
const Row* row_of(const std::string& scheme) {
  for (const Row& row : kRows)
    if (scheme == row.name) return &row;
  return nullptr;
}
}  // namespace

std::vector<std::string> compressor_names() {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  return names;
}
std::string needs_error_feedback(const std::string& scheme) {
  const Row* row = row_of(scheme);
  return row == nullptr ? "" : row->without_feedback;
}

std::unique_ptr<Compressor> new_compressor(const CompressorChoice& choice, Device& device,
                                           std::int64_t elements, int ranks) {
  STEPCAST_ASSERT(elements > 0 && ranks > 0, "buckets hold gradients and groups hold ranks");
  const Row* row = row_of(choice.scheme);
  const auto refuse = [](const char* key, const std::string& what,
                         const std::string& hint) -> void {
    throw InputError(Problem{"compression", key, what, hint});
  };
  if (row == nullptr) {
    const std::string near = nearest_name(choice.scheme, compressor_names());
    refuse("/scheme",
           fmt::format("\"{}\" is not one of {}", choice.scheme, joined(compressor_names())),
           near.empty() ? "" : fmt::format("did you mean \"{}\"?", near));
  }
  if (!(choice.ratio > 0 && choice.ratio <= 1))
    refuse("/ratio", fmt::format("{} lies outside of (0, 1]", choice.ratio),
           "the share of elements that is sent");
  if (choice.rank < 1 || choice.rank > kLargestRank)
    refuse("/rank", fmt::format("{} lies outside of 1 to {}", choice.rank, kLargestRank),
           "4 is what most runs use");
  if (elements > 0xffffffffll)
    refuse("/bucket", fmt::format("{} elements do not fit into 4-byte indices", elements),
           "make the buckets smaller");
  CompressKernels* loops = device.compress_kernels();
  if (loops == nullptr)
    throw EnvironmentError(fmt::format("device {} has no compression kernels", device.info().name));
  return row->make(choice, {device, *loops, elements, ranks});
}

void exchange(Communicator& communicator, Stream& stream, const Message& message) {
  if (message.combine == Combine::all_reduce)
    communicator.all_reduce(stream, message.payload, message.count);
  else
    communicator.all_gather(stream, message.payload, message.gathered, message.count);
}

Bytes reduce_compressed(Compressor& compressor, Stream& stream, View gradient,
                        Communicator& communicator) {
  Bytes sent{0};
  for (int round = 0; round < compressor.rounds(); ++round) {
    const Message message = compressor.encode(stream, round, gradient);
    exchange(communicator, stream, message);
    compressor.decode(stream, round, gradient);
    sent += message.bytes();
  }
  return sent;
}
}  // namespace stepcast::runtime
