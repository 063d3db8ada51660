#include "calibrate/compressors/compressor_bench.hpp"

#include <cmath>

#include "sim/core/random.hpp"
#include "sim/timeline/op_names.hpp"

namespace stepcast::calibrate {
using runtime::Buffer;
using runtime::CompressorChoice;
using runtime::ElementCount;

CompressorBench::CompressorBench(Bench& bench, const CompressorChoice& choice, std::int64_t n)
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

Reduction CompressorBench::reduce() {
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

double CompressorBench::error() {
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

std::vector<float> CompressorBench::on_host(const Buffer& buffer) {
  bench_.device.copy(bench_.compute, host_.data(), buffer.data(), buffer.bytes());
  bench_.compute.synchronise();
  return {values(), values() + n_};
}
}  // namespace stepcast::calibrate
