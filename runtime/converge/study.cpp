#include "runtime/converge/study.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include "sim/core/random.hpp"
#include "sim/core/robust_stats.hpp"

namespace stepcast::runtime {
namespace {
constexpr int kResamples =
    2000;  // enough for the 5 % quantile to move by less than 2 % of its spread

/// Median of `values` (some may be infinite), taken from the sorted middle without interpolating
/// across infinity.
double middle_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  if (n % 2 == 1) return values[n / 2];
  return std::isinf(values[n / 2]) ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

Interval interval_of(const std::vector<double>& values) {
  if (values.empty()) return {};
  std::vector<double> medians;
  for (int resample = 0; resample < kResamples; ++resample) {
    std::vector<double> drawn;
    for (std::size_t i = 0; i < values.size(); ++i)
      drawn.push_back(values[mixed_bits(static_cast<std::uint64_t>(resample), i) % values.size()]);
    medians.push_back(middle_of(std::move(drawn)));
  }
  std::sort(medians.begin(), medians.end());
  const auto at = [&](double share) {
    return medians[static_cast<std::size_t>(share * (kResamples - 1))];
  };
  return {at(0.05), middle_of(values), at(0.95)};
}
}  // namespace

std::vector<StudyResult> study(const std::vector<TrainingSetup>& setups, int jobs,
                               const std::function<void()>& done) {
  std::vector<StudyResult> results(setups.size());
  std::vector<std::pair<std::size_t, std::size_t>> open;
  for (std::size_t setup = 0; setup < setups.size(); ++setup) {
    results[setup].runs.resize(static_cast<std::size_t>(setups[setup].spec.seeds));
    for (std::size_t seed = 0; seed < results[setup].runs.size(); ++seed)
      open.emplace_back(setup, seed);
  }
  std::atomic<std::size_t> next{0};
  std::atomic<bool> is_stopped{false};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    for (std::size_t i = next++; i < open.size() && !is_stopped; i = next++) {
      const auto [which, seed] = open[i];
      try {
        TrainingSetup setup = setups[which];
        setup.seed += seed;
        results[which].runs[seed] = train(setup);
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
        is_stopped = true;
        return;
      }
      const std::lock_guard lock(mutex);
      if (done) done();
    }
  };
  std::vector<std::thread> threads;
  for (int job = 1; job < jobs; ++job) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);

  for (StudyResult& result : results) {
    std::vector<double> steps, losses, noise;
    for (const TrainingOutcome& run : result.runs) {
      result.reached += run.steps_to_target ? 1 : 0;
      result.diverged += run.has_diverged ? 1 : 0;
      steps.push_back(run.steps_to_target.value_or(std::numeric_limits<double>::infinity()));
      losses.push_back(run.final_loss);
      if (run.gradient_noise_scale > 0) noise.push_back(run.gradient_noise_scale);
    }
    result.steps_to_target = interval_of(steps);
    result.final_loss = interval_of(losses);
    if (!noise.empty()) result.gradient_noise_scale = median(noise);
  }
  return results;
}
}  // namespace stepcast::runtime
