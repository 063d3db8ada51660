#include "calibrate/step/codec_piece.hpp"

#include <set>

#include "calibrate/compressors/compressor_tasks.hpp"

namespace stepcast::calibrate {

CodecPiece::CodecPiece(Bench& bench, const runtime::CompressorChoice& choice,
                       const std::vector<std::int64_t>& bucket_elements)
    : choice_(choice) {
  for (const std::int64_t elements : std::set(bucket_elements.begin(), bucket_elements.end())) {
    Size size;
    size.bench = std::make_unique<CompressorBench>(bench, choice, elements);
    size.sent = size.bench->reduce().sent;
    size.error = size.bench->error();
    sizes_.push_back(std::move(size));
  }
}

void CodecPiece::round() {
  constexpr int kRepeats = 3;
  for (Size& size : sizes_) {
    size.bench->reduce();  // finds in the caches what another piece left there
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      const Reduction reduction = size.bench->reduce();
      size.encode_s.push_back(reduction.encode_s);
      size.decode_s.push_back(reduction.decode_s);
    }
  }
}

std::vector<Entry> CodecPiece::entries() const {
  std::vector<Entry> entries;
  for (const Size& size : sizes_) {
    Sampler encode(every_sample()), decode(every_sample());
    for (const double seconds : size.encode_s) encode.add(seconds);
    for (const double seconds : size.decode_s) decode.add(seconds);
    for (Entry& entry : codec_entries(choice_, size.bench->bytes(), encode.summary(),
                                      decode.summary(), size.sent, size.error))
      entries.push_back(std::move(entry));
  }
  return entries;
}
}  // namespace stepcast::calibrate
