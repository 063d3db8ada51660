#pragma once
#include <memory>
#include <vector>

#include "calibrate/measure/bench.hpp"
#include "runtime/compress/compressor.hpp"

namespace stepcast::calibrate {

struct Reduction {
  double encode_s = 0, decode_s = 0;
  Bytes sent;
};

/// One gradient of n elements on its way through a compressor, again and again. All ranks make and
/// use it together.
class CompressorBench {
 public:
  CompressorBench(Bench& bench, const runtime::CompressorChoice& choice, std::int64_t n);
  Reduction reduce();
  /// Of the last reduction, against the exact sum.
  double error();
  Bytes bytes() const { return source_.bytes(); }

 private:
  float* values() const { return host_.view().as<float>(); }
  std::vector<float> on_host(const runtime::Buffer& buffer);
  Bench& bench_;
  std::int64_t n_;
  std::unique_ptr<runtime::Compressor> compressor_;
  runtime::Buffer source_, gradient_, host_;
};
}  // namespace stepcast::calibrate
