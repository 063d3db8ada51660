#include <algorithm>
#include <cmath>

#include "runtime/compress/schemes.hpp"

namespace stepcast::runtime {
std::int64_t kept_of(const CompressorChoice& choice, std::int64_t elements) {
  return std::clamp<std::int64_t>(std::llround(static_cast<double>(elements) * choice.ratio), 1,
                                  elements);
}
namespace {
class TopKCompressor final : public FeedbackCompressor {
 public:
  TopKCompressor(const CompressorChoice& choice, const CompressorPlace& place)
      : FeedbackCompressor(choice, place),
        kept_(kept_of(choice, place.elements)),
        payload_(place.device, 2 * kept_, Precision::fp32),
        gathered_(place.device, 2 * kept_ * place.ranks, Precision::fp32),
        workspace_(place.device, Bytes(place.loops.top_k_workspace(place.elements))) {}
  Message encode(Stream& stream, int /*round*/, View gradient) override {
    add_gradient(stream, gradient);
    place_.loops.encode_top_k(stream, x_.view(), payload_.view(), workspace_.view(),
                              place_.elements, kept_);
    return {Combine::all_gather, payload_.view(), gathered_.view(), {2 * kept_}};
  }
  void decode(Stream& stream, int /*round*/, View gradient) override {
    place_.loops.decode_top_k(stream, gathered_.view(), place_.ranks, gradient, place_.elements,
                              kept_);
  }

 private:
  std::int64_t kept_;
  Buffer payload_, gathered_, workspace_;
};
}  // namespace
std::unique_ptr<Compressor> new_top_k(const CompressorChoice& choice,
                                      const CompressorPlace& place) {
  return std::make_unique<TopKCompressor>(choice, place);
}
}  // namespace stepcast::runtime
