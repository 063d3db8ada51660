#include "runtime/compress/schemes.hpp"

namespace stepcast::runtime {
namespace {
class BlockCompressor final : public FeedbackCompressor {
 public:
  BlockCompressor(const CompressorChoice& choice, const CompressorPlace& place)
      : FeedbackCompressor(choice, place),
        format_(choice.scheme == "int8"  ? BlockFormat::int8
                : choice.scheme == "fp8" ? BlockFormat::fp8
                                         : BlockFormat::sign),
        words_(blocks_of(place.elements) * words_per_block(format_)),
        payload_(place.device, words_, Precision::fp32),
        gathered_(place.device, words_ * place.ranks, Precision::fp32) {}
  Message encode(Stream& stream, int /*round*/, View gradient) override {
    add_gradient(stream, gradient);
    place_.loops.encode_blocks(stream, format_, x_.view(), payload_.view(), place_.elements);
    return {Combine::all_gather, payload_.view(), gathered_.view(), {words_}};
  }
  void decode(Stream& stream, int /*round*/, View gradient) override {
    place_.loops.decode_blocks(stream, format_, gathered_.view(), place_.ranks, gradient,
                               place_.elements);
  }

 private:
  BlockFormat format_;
  std::int64_t words_;
  Buffer payload_, gathered_;
};
}  // namespace
std::unique_ptr<Compressor> new_blocks(const CompressorChoice& choice,
                                       const CompressorPlace& place) {
  return std::make_unique<BlockCompressor>(choice, place);
}
}  // namespace stepcast::runtime
