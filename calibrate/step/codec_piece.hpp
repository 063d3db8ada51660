#pragma once
#include <memory>
#include <vector>

#include "calibrate/compressors/compressor_bench.hpp"

namespace stepcast::calibrate {

/// The step's compressor on buckets of the step's own sizes, with nothing beside it.
class CodecPiece {
 public:
  CodecPiece(Bench& bench, const runtime::CompressorChoice& choice,
             const std::vector<std::int64_t>& bucket_elements);
  void round();
  /// Keyed as compressor_tasks keys them: encode, decode, ratio and error by bytes of the bucket.
  std::vector<Entry> entries() const;

 private:
  struct Size {
    std::unique_ptr<CompressorBench> bench;
    Bytes sent;
    double error = 0;
    std::vector<double> encode_s, decode_s;
  };
  runtime::CompressorChoice choice_;
  std::vector<Size> sizes_;
};
}  // namespace stepcast::calibrate
