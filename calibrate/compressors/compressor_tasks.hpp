#pragma once
#include <vector>

#include "calibrate/measure/bench.hpp"
#include "runtime/compress/compressor.hpp"

namespace stepcast::calibrate {
/// How a compressor is named in the journal:
///   compress/SCHEME/share0.01/rank4/PART/BYTES   BYTES of the fp32 gradient
/// PART encode and decode: seconds of one bucket, all rounds, without the exchange; ratio: fp32
/// bytes over bytes sent; error: |result - exact sum| / |exact sum| of one reduction without a
/// residual, of normal gradients.
std::string compressor_key(const runtime::CompressorChoice& choice);

/// Entries of a compressor on buckets of that many bytes.
std::vector<Entry> codec_entries(const runtime::CompressorChoice& choice, Bytes bucket,
                                 Summary encode, Summary decode, Bytes sent, double error);

/// Gradients of `sizes` bytes; all ranks exchange what they encode.
std::vector<Task> compressor_tasks(const runtime::CompressorChoice& choice,
                                   const std::vector<std::int64_t>& sizes);
/// Every scheme that the runtime has, with its defaults.
std::vector<runtime::CompressorChoice> every_compressor();
}  // namespace stepcast::calibrate
