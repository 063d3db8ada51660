#include "calibrate/compressors/compressor_tasks.hpp"

#include <fmt/format.h>

#include <cmath>
#include <span>

#include "sim/core/random.hpp"
#include "sim/timeline/op_names.hpp"

namespace stepcast::calibrate {
using runtime::Buffer;
using runtime::CompressorChoice;
using runtime::ElementCount;
namespace {
/// Repetitions that all ranks agree on beforehand: they exchange in each.
constexpr int kWarmUp = 3, kRepeats = 15;

struct Reduction {
  double encode_s = 0, decode_s = 0;
  Bytes sent;
};

/// One gradient of n elements on its way through a compressor, again and again.
class CompressorBench {
 public:
  CompressorBench(Bench& bench, const CompressorChoice& choice, std::int64_t n)
      : bench_(bench),
        n_(n),
        compressor_(runtime::new_compressor(choice, bench.device, n, bench.world.size())),
        source_(bench.device, n, Precision::fp32),
        gradient_(bench.device, n, Precision::fp32),
        host_(bench.device, Bytes(n * 4), runtime::MemoryKind::pinned_host) {
    const auto rank = static_cast<std::uint64_t>(bench.world.rank());
    for (std::int64_t i = 0; i < n; ++i)
      values()[i] =
          static_cast<float>(normal_from_bits(mixed_bits(rank + 1, static_cast<std::uint64_t>(i))));
    bench.device.copy(bench.compute, source_.data(), host_.data(), source_.bytes());
    bench.compute.synchronise();
  }

  Reduction reduce() {
    runtime::Recorder& recorder = bench_.device.recorder();
    bench_.device.copy(bench_.compute, gradient_.data(), source_.data(), source_.bytes());
    bench_.compute.synchronise();
    bench_.world.barrier();
    recorder.start();
    Reduction result;
    for (int round = 0; round < compressor_->rounds(); ++round) {
      runtime::Message message;
      {
        const runtime::OpScope scope(recorder, op::encode);
        message = compressor_->encode(bench_.compute, round, gradient_.view());
      }
      {
        const runtime::OpScope scope(recorder, op::grad_reduce);
        runtime::exchange(bench_.world, bench_.compute, message);
      }
      const bool is_last = round + 1 == compressor_->rounds();
      const runtime::OpScope scope(recorder, is_last ? op::decode : op::encode);
      compressor_->decode(bench_.compute, round, gradient_.view());
      result.sent += message.bytes();
    }
    bench_.compute.synchronise();
    recorder.stop();
    for (const runtime::Activity& activity : recorder.activities()) {
      const auto name = recorder.labels()[static_cast<std::size_t>(activity.label)].name;
      const double seconds = seconds_from_ns(activity.end - activity.start).value;
      if (name == op::encode) result.encode_s += seconds;
      if (name == op::decode) result.decode_s += seconds;
    }
    return result;
  }

  /// Of the last reduction, against the exact sum. All ranks call it.
  double error() {
    const std::vector<float> result = on_host(gradient_);
    Buffer sum(bench_.device, n_, Precision::fp32);
    bench_.device.copy(bench_.compute, sum.data(), source_.data(), source_.bytes());
    bench_.world.all_reduce(bench_.compute, sum.view(), ElementCount{n_});
    bench_.compute.synchronise();
    const std::vector<float> exact = on_host(sum);
    double apart = 0, whole = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const auto wanted = static_cast<double>(exact[i]);
      const double difference = static_cast<double>(result[i]) - wanted;
      apart += difference * difference;
      whole += wanted * wanted;
    }
    return std::sqrt(apart / whole);
  }

 private:
  float* values() const { return host_.view().as<float>(); }
  std::vector<float> on_host(const Buffer& buffer) {
    bench_.device.copy(bench_.compute, host_.data(), buffer.data(), buffer.bytes());
    bench_.compute.synchronise();
    return {values(), values() + n_};
  }
  Bench& bench_;
  std::int64_t n_;
  std::unique_ptr<runtime::Compressor> compressor_;
  Buffer source_, gradient_, host_;
};
}  // namespace

std::string compressor_key(const CompressorChoice& choice) {
  return fmt::format("compress/{}/share{}/rank{}", choice.scheme, choice.ratio, choice.rank);
}

std::vector<Task> compressor_tasks(const CompressorChoice& choice,
                                   const std::vector<std::int64_t>& sizes) {
  std::vector<Task> tasks;
  for (const std::int64_t bytes : sizes) {
    const std::string name = compressor_key(choice);
    tasks.push_back(
        {fmt::format("{}/{}", name, bytes), [name, choice, bytes](Bench& bench) {
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
           const double ratio = static_cast<double>(bytes) / static_cast<double>(first.sent.value);
           const auto key = [&](const char* part) {
             return fmt::format("{}/{}/{}", name, part, bytes);
           };
           return std::vector<Entry>{{key("encode"), encode.summary()},
                                     {key("decode"), decode.summary()},
                                     {key("ratio"), plain_figure(ratio, "a ratio, not a time")},
                                     {key("error"), plain_figure(error, "relative, not a time")}};
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
