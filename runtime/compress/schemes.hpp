#pragma once
#include "runtime/compress/compressor.hpp"

/// The factories that registry.cpp lists, and what all compressors share.
namespace stepcast::runtime {
struct CompressorPlace {
  Device& device;
  CompressKernels& loops;
  std::int64_t elements;
  int ranks;
};
/// x: residual, then gradient plus residual, then residual again.
class FeedbackCompressor : public Compressor {
 protected:
  FeedbackCompressor(const CompressorChoice& choice, const CompressorPlace& place)
      : choice_(choice), place_(place), x_(place.device, place.elements, Precision::fp32) {}
  /// The first call clears the residual: device memory is undefined until then.
  void add_gradient(Stream& stream, View gradient) {
    place_.loops.add_gradient(stream, gradient, x_.view(), place_.elements,
                              choice_.has_error_feedback && is_started_);
    is_started_ = true;
  }
  CompressorChoice choice_;
  CompressorPlace place_;
  Buffer x_;  // (n) fp32

 private:
  bool is_started_ = false;
};

using CompressorFactory = std::unique_ptr<Compressor> (*)(const CompressorChoice&,
                                                          const CompressorPlace&);
std::unique_ptr<Compressor> new_cast(const CompressorChoice&,
                                     const CompressorPlace&);  // fp16, bf16
std::unique_ptr<Compressor> new_blocks(const CompressorChoice&,
                                       const CompressorPlace&);  // int8, fp8, onebit
std::unique_ptr<Compressor> new_top_k(const CompressorChoice&, const CompressorPlace&);
std::unique_ptr<Compressor> new_random_k(const CompressorChoice&, const CompressorPlace&);
std::unique_ptr<Compressor> new_power_sgd(const CompressorChoice&, const CompressorPlace&);

/// Elements that topk and randomk keep: at least one.
std::int64_t kept_of(const CompressorChoice&, std::int64_t elements);
}  // namespace stepcast::runtime
