#include "runtime/compress/schemes.hpp"

namespace stepcast::runtime {
namespace {
/// The gradient is divided by the number of ranks before the cast, so that a sum of fp16 stays in
/// range, and multiplied after.
class CastCompressor final : public FeedbackCompressor {
 public:
  CastCompressor(const CompressorChoice& choice, const CompressorPlace& place)
      : FeedbackCompressor(choice, place),
        payload_(place.device, place.elements,
                 choice.scheme == "fp16" ? Precision::fp16 : Precision::bf16) {}
  Message encode(Stream& stream, int /*round*/, View gradient) override {
    add_gradient(stream, gradient);
    place_.loops.encode_cast(stream, x_.view(), payload_.view(),
                             1.0f / static_cast<float>(place_.ranks), place_.elements);
    return {Combine::all_reduce, payload_.view(), {}, {place_.elements}};
  }
  void decode(Stream& stream, int /*round*/, View gradient) override {
    place_.loops.decode_cast(stream, payload_.view(), gradient, static_cast<float>(place_.ranks),
                             place_.elements);
  }

 private:
  Buffer payload_;
};
}  // namespace
std::unique_ptr<Compressor> new_cast(const CompressorChoice& choice, const CompressorPlace& place) {
  return std::make_unique<CastCompressor>(choice, place);
}
}  // namespace stepcast::runtime
