#include "calibrate/measure/stopping_rule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/core/robust_stats.hpp"

namespace stepcast::calibrate {

const char* text_of(Quality quality) {
  switch (quality) {
    case Quality::good:
      return "good";
    case Quality::unstable:
      return "unstable";
    case Quality::drifting:
      return "drifting";
    case Quality::bimodal:
      return "bimodal";
  }
  return "?";
}

StoppingRule exactly(int samples) {
  return {.warm_window = 1,
          .warm_agreement = 10,
          .min_samples = samples,
          .max_samples = samples,
          .max_time_s = std::numeric_limits<double>::infinity(),
          .half_width = 0};
}
StoppingRule every_sample() {
  constexpr int kNever = 1 << 30;
  return {.warm_window = 0, .min_samples = kNever, .max_samples = kNever, .max_time_s = 1e300};
}

Summary plain_figure(double value, std::string reason) {
  Summary s;
  s.n = 1;
  s.median_s = s.q25_s = s.q75_s = s.min_s = s.mean_s = s.trimmed_mean_s = value;
  s.quality = Quality::good;
  s.reason = std::move(reason);
  return s;
}

double median_half_width(std::vector<double> samples) {
  const auto n = static_cast<double>(samples.size());
  if (samples.size() < 6) return 1;
  std::sort(samples.begin(), samples.end());
  const double reach = 0.98 * std::sqrt(n);  // 1.96 * sqrt(n) / 2
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor(n / 2 - reach)));
  const auto high =
      std::min(samples.size() - 1, static_cast<std::size_t>(std::ceil(n / 2 + reach)));
  const double middle = median(samples);
  if (samples[high] == samples[low]) return 0;  // also where all are 0: what a step has none of
  return middle > 0 ? (samples[high] - samples[low]) / 2 / middle : 1;
}

double drift_of(const std::vector<double>& samples) {
  const std::size_t third = samples.size() / 3;
  if (third < 3) return 0;
  const double first = median(std::span(samples).first(third)),
               last = median(std::span(samples).last(third));
  return std::abs(last - first) / median(samples);
}

bool is_bimodal(std::vector<double> samples) {
  if (samples.size() < 10) return false;
  std::sort(samples.begin(), samples.end());
  // The cut with the least squared distance to the two means (Fisher's natural breaks for two
  // classes).
  const std::size_t n = samples.size(), least = std::max<std::size_t>(2, n / 10);
  std::vector<double> sum(n + 1, 0), squares(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) {
    sum[i + 1] = sum[i] + samples[i];
    squares[i + 1] = squares[i] + samples[i] * samples[i];
  }
  const auto spread = [&](std::size_t from, std::size_t to) {
    const auto count = static_cast<double>(to - from);
    const double s = sum[to] - sum[from];
    return squares[to] - squares[from] - s * s / count;
  };
  std::size_t best = 0;
  double lowest = spread(0, n);
  const double whole = lowest;
  for (std::size_t cut = least; cut + least <= n; ++cut)
    if (const double both = spread(0, cut) + spread(cut, n); both < lowest)
      lowest = both, best = cut;
  if (best == 0) return false;
  const auto left = std::span(samples).first(best), right = std::span(samples).last(n - best);
  const double apart = median(right) - median(left);
  // Cutting one hump at its middle leaves 36 % of its spread (a normal: 1 - 2/pi); two narrow modes
  // leave much less.
  constexpr double kOneHump = 0.15;
  return apart > 0.05 * median(samples) && lowest < kOneHump * whole;
}

namespace {
double trimmed_mean(std::vector<double> samples) {
  constexpr std::size_t kEnough = 20;
  if (samples.size() >= kEnough) samples.erase(std::max_element(samples.begin(), samples.end()));
  return mean(samples);
}
}  // namespace

void Sampler::add_warm_up(double seconds) {
  warm_.push_back(seconds);
  warm_time_ += seconds;
  const auto window = static_cast<std::size_t>(rule_.warm_window);
  if (warm_.size() >= 2 * window && warm_.size() % window == 0) {
    const auto last = std::span(warm_).last(window),
               before = std::span(warm_).last(2 * window).first(window);
    is_warm_ = std::abs(median(last) - median(before)) <= rule_.warm_agreement * median(last);
  }
  if (warm_time_ >= rule_.warm_share * rule_.max_time_s && warm_.size() >= 2) is_warm_ = true;
}

void Sampler::add(double seconds) {
  if (is_done()) return;
  if (!is_warm_) return add_warm_up(seconds);
  samples_.push_back(seconds);
  time_ += seconds;
  const auto n = static_cast<int>(samples_.size());
  if (n >= rule_.min_samples && time_ >= rule_.min_time_s) {
    half_widths_.push_back(median_half_width(samples_));
    if (half_widths_.back() <= rule_.half_width) reason_ = "precise";
    constexpr int kNoiseFrom = 64;
    constexpr std::size_t kNoiseWindow = 16;
    if (n >= kNoiseFrom && half_widths_.size() >= kNoiseWindow) {
      const auto recent = std::span(half_widths_).last(kNoiseWindow);
      const auto [low, high] = std::minmax_element(recent.begin(), recent.end());
      if (*high - *low <= 0.05 * *low) reason_ = "steady noise";
    }
  }
  if (reason_.empty() && n >= rule_.max_samples) reason_ = "samples";
  if (reason_.empty() && time_ >= rule_.max_time_s && n >= 3) reason_ = "time";
}

Summary Sampler::summary() const {
  const std::vector<double>& samples = samples_.empty() ? warm_ : samples_;
  Summary s;
  if (samples.empty()) return s;
  s.n = static_cast<int>(samples.size());
  s.median_s = median(samples);
  s.q25_s = quantile(samples, 0.25);
  s.q75_s = quantile(samples, 0.75);
  s.min_s = *std::min_element(samples.begin(), samples.end());
  s.mean_s = mean(samples);
  s.trimmed_mean_s = trimmed_mean(samples);
  s.half_width = median_half_width(samples);
  s.reason = reason_;
  constexpr double kDrift =
      0.02;  // A-B-A differences beyond this were clock or temperature in the field's reports
  if (is_bimodal(samples))
    s.quality = Quality::bimodal;
  else if (drift_of(samples) > std::max(kDrift, 3 * s.half_width))
    s.quality = Quality::drifting;
  else
    s.quality = s.half_width <= kGoodHalfWidth ? Quality::good : Quality::unstable;
  return s;
}
}  // namespace stepcast::calibrate
