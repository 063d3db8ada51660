#include "runtime/compress/local_group.hpp"

#include <cmath>
#include <cstring>

#include "runtime/compress/host_device.hpp"
#include "sim/core/assert.hpp"

namespace stepcast::runtime {
namespace {
std::vector<double> exact_sum(std::span<const std::vector<float>> gradients) {
  std::vector<double> sum(gradients[0].size());
  for (const auto& gradient : gradients)
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(gradient[i]);
  return sum;
}
/// Sums in the payload's precision, rank after rank, as a reduction in that precision would.
void all_reduce(std::vector<Message>& messages) {
  const auto count = messages[0].count.value;
  const Precision precision = messages[0].payload.precision;
  for (std::int64_t i = 0; i < count; ++i) {
    if (precision == Precision::fp32) {
      float sum = 0;
      for (const Message& message : messages) sum += message.payload.as<float>()[i];
      for (const Message& message : messages) message.payload.as<float>()[i] = sum;
      continue;
    }
    const bool is_bf16 = precision == Precision::bf16;
    STEPCAST_ASSERT(is_bf16 || precision == Precision::fp16,
                    "compressors send fp32, fp16 or bf16 sums");
    std::uint16_t sum = 0;
    for (const Message& message : messages) {
      const std::uint16_t term = message.payload.as<std::uint16_t>()[i];
      sum = is_bf16 ? bf16_of(float_of_bf16(sum) + float_of_bf16(term))
                    : fp16_of(float_of_fp16(sum) + float_of_fp16(term));
    }
    for (const Message& message : messages) message.payload.as<std::uint16_t>()[i] = sum;
  }
}
void all_gather(std::vector<Message>& messages) {
  const auto bytes = static_cast<std::size_t>(messages[0].bytes().value);
  for (const Message& to : messages)
    for (std::size_t from = 0; from < messages.size(); ++from)
      std::memcpy(to.gathered.as<std::byte>() + from * bytes, messages[from].payload.data, bytes);
}
double error_of(const std::vector<float>& result, const std::vector<double>& exact) {
  double lost = 0, whole = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    lost +=
        (static_cast<double>(result[i]) - exact[i]) * (static_cast<double>(result[i]) - exact[i]);
    whole += exact[i] * exact[i];
  }
  return lost == 0 ? 0 : std::sqrt(lost / whole);
}
}  // namespace

LocalGroup::LocalGroup(const CompressorChoice& choice, int ranks, std::int64_t elements)
    : device_(new_host_device()), stream_(device_->new_stream("host")), elements_(elements) {
  for (int rank = 0; rank < ranks; ++rank)
    members_.push_back(new_compressor(choice, *device_, elements, ranks));
}
LocalGroup::~LocalGroup() = default;

CompressionResult LocalGroup::reduce(std::span<std::vector<float>> gradients) {
  STEPCAST_ASSERT(gradients.size() == members_.size(), "one gradient per rank");
  const std::vector<double> exact = exact_sum(gradients);
  CompressionResult result;
  for (int round = 0; round < members_[0]->rounds(); ++round) {
    std::vector<Message> messages;
    for (std::size_t rank = 0; rank < members_.size(); ++rank)
      messages.push_back(members_[rank]->encode(*stream_, round, View{gradients[rank].data()}));
    if (messages[0].combine == Combine::all_reduce)
      all_reduce(messages);
    else
      all_gather(messages);
    for (std::size_t rank = 0; rank < members_.size(); ++rank)
      members_[rank]->decode(*stream_, round, View{gradients[rank].data()});
    result.sent += messages[0].bytes();
  }
  result.ratio =
      static_cast<double>(elements_) * sizeof(float) / static_cast<double>(result.sent.value);
  result.error = error_of(gradients[0], exact);
  return result;
}
}  // namespace stepcast::runtime
