#include "calibrate/measure/bench.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace stepcast::calibrate {
namespace {
/// Seconds from the first activity's start to the last one's end of each label, in order.
std::vector<double> label_times(const runtime::Recorder& recorder) {
  std::map<std::int32_t, std::pair<Nanoseconds, Nanoseconds>> spans;
  for (const runtime::Activity& activity : recorder.activities()) {
    const auto [at, is_new] = spans.try_emplace(activity.label, activity.start, activity.end);
    if (is_new) continue;
    at->second.first = std::min(at->second.first, activity.start);
    at->second.second = std::max(at->second.second, activity.end);
  }
  std::vector<double> times;
  for (const auto& [label, span] : spans)
    if (label >= 0)
      times.push_back(std::max(1e-9, seconds_from_ns(span.second - span.first).value));
  return times;
}
std::vector<double> timed_rounds(Bench& bench, runtime::Stream& stream,
                                 const std::function<void(int)>& work, int first, int rounds) {
  runtime::Recorder& recorder = bench.device.recorder();
  recorder.start();
  for (int round = first; round < first + rounds; ++round) {
    const runtime::OpScope scope(recorder, "measured");
    work(round);
  }
  stream.synchronise();
  recorder.stop();
  return label_times(recorder);
}
}  // namespace

Summary time_on_device(Bench& bench, runtime::Stream& stream,
                       const std::function<void(int)>& work) {
  Sampler sampler(bench.rule);
  int round = 0;
  double spent_s = 0;
  // Batches grow so that the host stays ahead of short kernels, as far as the time that is left
  // allows: a long kernel must not run fifty times because a short one would.
  for (int rounds = 5; !sampler.is_done();) {
    const std::vector<double> times = timed_rounds(bench, stream, work, round, rounds);
    for (const double seconds : times) {
      sampler.add(seconds);
      spent_s += seconds;
    }
    round += rounds;
    const double one_s = spent_s / round, left_s = bench.rule.max_time_s - spent_s;
    rounds = static_cast<int>(
        std::clamp(left_s / one_s, 1.0, static_cast<double>(std::min(50, rounds * 2))));
  }
  return sampler.summary();
}

Summary time_on_all_ranks(Bench& bench, runtime::Stream& stream,
                          const std::function<void(int)>& work) {
  using runtime::ElementCount;
  constexpr int kPilot = 4, kWarmUp = 2, kMost = 60;
  runtime::Buffer figures(bench.device, kMost + kWarmUp, Precision::fp32),
      host(bench.device, Bytes((kMost + kWarmUp) * 4), runtime::MemoryKind::pinned_host);
  auto* values = host.view().as<float>();
  // max over ranks of -t is the fastest rank's time.
  const auto fastest = [&](const std::vector<double>& times) {
    for (std::size_t i = 0; i < times.size(); ++i) values[i] = static_cast<float>(-times[i]);
    bench.device.copy(stream, figures.data(), values,
                      Bytes(static_cast<std::int64_t>(times.size()) * 4));
    bench.world.all_reduce(stream, figures.view(),
                           ElementCount{static_cast<std::int64_t>(times.size())},
                           runtime::Reduction::max);
    bench.device.copy(stream, values, figures.data(),
                      Bytes(static_cast<std::int64_t>(times.size()) * 4));
    stream.synchronise();
    std::vector<double> out;
    for (std::size_t i = 0; i < times.size(); ++i) out.push_back(-static_cast<double>(values[i]));
    return out;
  };
  int round = 0;
  const auto rounds_together = [&](int rounds) {
    std::vector<double> times;
    for (int i = 0; i < rounds; ++i, ++round) {
      bench.world.barrier();
      times.push_back(timed_rounds(bench, stream, work, round, 1).front());
    }
    return fastest(times);
  };
  const std::vector<double> pilot =
      rounds_together(kPilot);  // the same figures on every rank, so the same decision
  const double one = std::max(1e-6, *std::min_element(pilot.begin(), pilot.end()));
  const int rounds = std::clamp(static_cast<int>(bench.rule.max_time_s / one),
                                std::min(bench.rule.min_samples, kMost), kMost);
  Sampler sampler(exactly(rounds));
  for (const double seconds : rounds_together(rounds + kWarmUp)) sampler.add(seconds);
  Summary summary = sampler.summary();
  summary.reason = "rounds agreed on by all ranks";
  return summary;
}
}  // namespace stepcast::calibrate
