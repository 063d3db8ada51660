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

std::vector<std::vector<double>> of_all_ranks(Bench& bench, const std::vector<double>& mine) {
  const auto n = static_cast<std::int64_t>(mine.size());
  const auto size = static_cast<std::size_t>(bench.world.size());
  runtime::Buffer figures(bench.device, n * bench.world.size(), Precision::fp32),
      host(bench.device, figures.bytes(), runtime::MemoryKind::pinned_host);
  auto* values = host.view().as<float>();
  for (std::size_t i = 0; i < mine.size(); ++i) values[i] = static_cast<float>(mine[i]);
  const runtime::View own = figures.view(bench.world.rank() * n);
  bench.device.copy(bench.side, own.data, values, Bytes(n * bytes_per_element(Precision::fp32)));
  bench.world.all_gather(bench.side, own, figures.view(), runtime::ElementCount{n});
  bench.device.copy(bench.side, values, figures.data(), figures.bytes());
  bench.side.synchronise();
  std::vector<std::vector<double>> ranks(size);
  for (std::size_t rank = 0; rank < size; ++rank)
    ranks[rank].assign(values + rank * mine.size(), values + (rank + 1) * mine.size());
  return ranks;
}
double slowest_of(Bench& bench, double mine) {
  double slowest = 0;
  for (const auto& rank : of_all_ranks(bench, {mine})) slowest = std::max(slowest, rank.front());
  return slowest;
}
double fastest_of(Bench& bench, double mine) {
  double fastest = mine;
  for (const auto& rank : of_all_ranks(bench, {mine})) fastest = std::min(fastest, rank.front());
  return fastest;
}

Window window_of(Bench& bench, const std::function<void()>& compute,
                 const std::function<void()>& side) {
  runtime::Recorder& recorder = bench.device.recorder();
  bench.device.synchronise();
  bench.world.barrier();
  recorder.start();
  side();
  compute();
  bench.device.synchronise();
  recorder.stop();
  Nanoseconds begin = 0, compute_end = 0, side_end = 0;
  for (const runtime::Activity& activity : recorder.activities()) {
    begin = begin == 0 ? activity.start : std::min(begin, activity.start);
    Nanoseconds& end =
        recorder.streams()[activity.stream] == bench.side.name() ? side_end : compute_end;
    end = std::max(end, activity.end);
  }
  const auto since_begin = [begin](Nanoseconds end) {
    return end == 0 ? 0.0 : seconds_from_ns(end - begin).value;
  };
  Window slowest;
  for (const std::vector<double>& rank :
       of_all_ranks(bench, {since_begin(compute_end), since_begin(side_end)})) {
    slowest.compute_s = std::max(slowest.compute_s, rank[0]);
    slowest.side_s = std::max(slowest.side_s, rank[1]);
  }
  return slowest;
}

Summary time_on_all_ranks(Bench& bench, runtime::Stream& stream,
                          const std::function<void(int)>& work) {
  constexpr int kPilot = 4, kWarmUp = 2, kMost = 60;
  int round = 0;
  const auto rounds_together = [&](int rounds) {
    std::vector<double> times;
    for (int i = 0; i < rounds; ++i, ++round) {
      bench.world.barrier();
      times.push_back(timed_rounds(bench, stream, work, round, 1).front());
    }
    const std::vector<std::vector<double>> ranks = of_all_ranks(bench, times);
    for (const std::vector<double>& other : ranks)
      for (std::size_t i = 0; i < times.size(); ++i) times[i] = std::min(times[i], other[i]);
    return times;
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
