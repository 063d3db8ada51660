#include "calibrate/compressors/compressor_tasks.hpp"

#include <fmt/format.h>

#include "calibrate/compressors/compressor_bench.hpp"

namespace stepcast::calibrate {
using runtime::CompressorChoice;
namespace {
/// Repetitions that all ranks agree on beforehand: they exchange in each.
constexpr int kWarmUp = 3, kRepeats = 15;

}  // namespace

std::string compressor_key(const CompressorChoice& choice) {
  return fmt::format("compress/{}/share{}/rank{}", choice.scheme, choice.ratio, choice.rank);
}

std::vector<Entry> codec_entries(const CompressorChoice& choice, Bytes bucket, Summary encode,
                                 Summary decode, Bytes sent, double error) {
  const auto key = [&](const char* part) {
    return fmt::format("{}/{}/{}", compressor_key(choice), part, bucket.value);
  };
  const double ratio = static_cast<double>(bucket.value) / static_cast<double>(sent.value);
  return {{key("encode"), std::move(encode)},
          {key("decode"), std::move(decode)},
          {key("ratio"), plain_figure(ratio, "a ratio, not a time")},
          {key("error"), plain_figure(error, "relative, not a time")}};
}

std::vector<Task> compressor_tasks(const CompressorChoice& choice,
                                   const std::vector<std::int64_t>& sizes) {
  std::vector<Task> tasks;
  for (const std::int64_t bytes : sizes) {
    const std::string name = compressor_key(choice);
    tasks.push_back({fmt::format("{}/{}", name, bytes), [choice, bytes](Bench& bench) {
                       CompressorBench compressor(bench, choice, bytes / 4);
                       const Reduction first = compressor.reduce();
                       const double error = compressor.error();
                       Sampler encode(exactly(kRepeats));
                       Sampler decode = encode;
                       for (int repeat = 0; repeat < kWarmUp + kRepeats; ++repeat) {
                         const Reduction reduction = compressor.reduce();
                         encode.add(reduction.encode_s);
                         decode.add(reduction.decode_s);
                       }
                       return codec_entries(choice, Bytes(bytes), encode.summary(),
                                            decode.summary(), first.sent, error);
                     }});
  }
  return tasks;
}

std::vector<CompressorChoice> every_compressor() {
  std::vector<CompressorChoice> choices;
  for (const std::string& scheme : runtime::compressor_names())
    choices.push_back({.scheme = scheme});
  return choices;
}
}  // namespace stepcast::calibrate
