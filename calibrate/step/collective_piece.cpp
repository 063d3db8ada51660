#include "calibrate/step/collective_piece.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibrate/collectives/collective_tasks.hpp"
#include "sim/core/random.hpp"
#include "sim/core/robust_stats.hpp"

namespace stepcast::calibrate {
namespace {
std::string key_of(const CollectiveCall& call) {
  return fmt::format("collective/{}/{}/{}", text_of(call.collective), call.ranks,
                     call.bytes().value);
}
}  // namespace

CollectivePiece::CollectivePiece(Bench& bench, const std::vector<CollectiveCall>& calls)
    : bench_(bench) {
  constexpr std::int64_t kAlignment = 256;
  std::int64_t end = 0, largest = 0;
  for (const CollectiveCall& call : calls) {
    if (call.ranks < 2 || call.ranks != bench.world.size()) continue;
    calls_.push_back(call);
    offsets_.push_back(end);
    end += (call.bytes().value + kAlignment - 1) / kAlignment * kAlignment;
    largest = std::max(largest, call.bytes().value);
  }
  if (calls_.empty()) return;
  source_ = runtime::Buffer(bench.device, Bytes(end));
  buffer_ = runtime::Buffer(bench.device, Bytes(end));
  received_ = runtime::Buffer(bench.device, Bytes(largest));
  // Each range in its call's precision: bits of another one may be no number.
  const runtime::Buffer host(bench.device, Bytes(end), runtime::MemoryKind::pinned_host);
  auto* bytes = static_cast<std::uint8_t*>(host.data());
  std::fill_n(bytes, end, std::uint8_t{0});
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const auto place = static_cast<std::uint64_t>(bench.world.rank()) << 48 | i << 40;
    for (std::int64_t e = 0; e < calls_[i].elements; ++e) {
      const std::uint64_t bits = mixed_bits(place, static_cast<std::uint64_t>(e));
      if (calls_[i].precision == Precision::fp32) {
        const auto value = static_cast<float>(1e-3 * normal_from_bits(bits));
        std::copy_n(reinterpret_cast<const std::uint8_t*>(&value), sizeof value,
                    bytes + offsets_[i] + e * 4);
      } else {
        // fp16 of 2^-7 to 2^-3, bf16 of 2^-63 to 2^-31, either sign: sums stay numbers.
        const auto value = static_cast<std::uint16_t>((bits & 0x8fff) | 0x2000);
        std::copy_n(reinterpret_cast<const std::uint8_t*>(&value), sizeof value,
                    bytes + offsets_[i] + e * 2);
      }
    }
  }
  bench.device.copy(bench.side, source_.data(), host.data(), source_.bytes());
  bench.side.synchronise();
  refill();
}

void CollectivePiece::refill() {
  bench_.device.copy(bench_.side, buffer_.data(), source_.data(), buffer_.bytes());
  bench_.side.synchronise();
}

void CollectivePiece::run(std::size_t index) {
  const CollectiveCall& call = calls_[index];
  const runtime::View x{static_cast<std::uint8_t*>(buffer_.data()) + offsets_[index],
                        call.precision};
  run_collective(bench_, call.collective, x, {received_.data(), call.precision}, call.elements);
}

void CollectivePiece::round() {
  constexpr int kPasses = 2;
  if (is_empty()) return;
  runtime::Recorder& recorder = bench_.device.recorder();
  for (int pass = 0; pass < kPasses; ++pass) {
    refill();
    std::vector<double> times;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      bench_.world.barrier();
      recorder.start();
      run(i);
      bench_.side.synchronise();
      recorder.stop();
      double seconds = 0;
      for (const runtime::Activity& activity : recorder.activities())
        seconds += seconds_from_ns(activity.end - activity.start).value;
      times.push_back(seconds);
    }
    // The fastest rank's time: the others' holds their wait for it.
    const std::vector<std::vector<double>> ranks = of_all_ranks(bench_, times);
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      for (const std::vector<double>& other : ranks) times[i] = std::min(times[i], other[i]);
      samples_[key_of(calls_[i])].push_back(times[i]);
    }
  }
}

double CollectivePiece::seconds_of(std::size_t index) const {
  return median(samples_.at(key_of(calls_[index])));
}

std::vector<Entry> CollectivePiece::entries() const {
  std::vector<Entry> entries;
  for (const auto& [key, samples] : samples_) {
    Sampler all(every_sample());
    for (const double seconds : samples) all.add(std::max(1e-9, seconds));
    entries.push_back({key, all.summary()});
    entries.back().summary.reason = "rounds between those of the whole step";
  }
  return entries;
}
}  // namespace stepcast::calibrate
