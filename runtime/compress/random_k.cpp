#include "runtime/compress/schemes.hpp"

namespace stepcast::runtime {
namespace {
/// With error feedback values travel as they are; without it they are multiplied by n/k, which
/// makes the estimate unbiased.
class RandomKCompressor final : public FeedbackCompressor {
 public:
  RandomKCompressor(const CompressorChoice& choice, const CompressorPlace& place)
      : FeedbackCompressor(choice, place),
        kept_(kept_of(choice, place.elements)),
        payload_(place.device, kept_, Precision::fp32) {}
  Message encode(Stream& stream, int /*round*/, View gradient) override {
    add_gradient(stream, gradient);
    seed_ = mixed(choice_.seed ^ mixed(static_cast<std::uint64_t>(step_++)));
    place_.loops.encode_random_k(stream, x_.view(), payload_.view(), place_.elements, kept_, seed_);
    return {Combine::all_reduce, payload_.view(), {}, {kept_}};
  }
  void decode(Stream& stream, int /*round*/, View gradient) override {
    const float factor =
        choice_.has_error_feedback
            ? 1.0f
            : static_cast<float>(static_cast<double>(place_.elements) / static_cast<double>(kept_));
    place_.loops.decode_random_k(stream, payload_.view(), gradient, factor, place_.elements, kept_,
                                 seed_);
  }

 private:
  std::int64_t kept_, step_ = 0;
  std::uint64_t seed_ = 0;
  Buffer payload_;
};
}  // namespace
std::unique_ptr<Compressor> new_random_k(const CompressorChoice& choice,
                                         const CompressorPlace& place) {
  return std::make_unique<RandomKCompressor>(choice, place);
}
}  // namespace stepcast::runtime
