#pragma once
#include <string>
#include <vector>

/// When a measurement is good enough. Numbers in, verdict out: no clock, no device.
namespace stepcast::calibrate {

/// quality of a finished measurement, best first.
enum class Quality { good, unstable, drifting, bimodal };
const char* text_of(Quality quality);

struct StoppingRule {
  int warm_window = 5;  // samples of a warm-up window; 0: the caller warmed up
  double warm_agreement =
      0.02;                 // two windows in a row whose medians agree this well end the warm-up
  double warm_share = 0.2;  // of max_time_s that the warm-up may take
  int min_samples = 10, max_samples = 1000;
  double min_time_s = 0.02, max_time_s = 0.5;
  double half_width = 0.01;  // when to stop: half of kGoodHalfWidth, so that what stops is good
};

/// So many samples and no fewer, whatever they say: what several ranks agreed on beforehand. Two
/// warm-up samples go before them.
StoppingRule exactly(int samples);
/// Every sample it is given, from the first on: whoever samples in rounds decides when to stop.
StoppingRule every_sample();

/// Relative half width of the median's 95 % interval up to which a measurement is called good.
inline constexpr double kGoodHalfWidth = 0.02;

struct Summary {
  int n = 0;
  double median_s = 0, q25_s = 0, q75_s = 0, min_s = 0, mean_s = 0;
  /// Mean without the largest of at least 20 samples. What a sum of many such times is made of: the
  /// medians of a hundred ops miss every slice that the system took from one of them, a step does
  /// not. The one that is left out is a stall that a step's own median never shows.
  double trimmed_mean_s = 0;
  double half_width = 0;  // relative
  Quality quality = Quality::unstable;
  std::string reason;  // why it ended: "precise", "steady noise", "time", "samples"
};

/// A single figure that is measured beside times; `reason` says what it is.
Summary plain_figure(double value, std::string reason);

/// Relative half width of the median's 95 % interval by order statistics: ranks n/2 +- 0.98 sqrt(n)
/// (binomial, normal approximation). 1 for fewer than 6 samples, which have no such interval.
double median_half_width(std::vector<double> samples);

/// Thirds of the series, first against last: relative difference of their medians. 0 below 9
/// samples.
double drift_of(const std::vector<double>& samples);
/// Two modes further apart than 5 % of the median: the sorted values are cut where it lowers their
/// spread most; the cut counts when each side holds a tenth, the sides' medians differ by more than
/// 5 %, and little lies between them.
bool is_bimodal(std::vector<double> samples);

/// Feeds on samples one by one. Warm-up samples are dropped. Done when the median is precise, or
/// when the noise itself has settled (nvbench's second rule: the last 16 half-widths lie within 5 %
/// of each other, after 64 samples), or when time or samples are used up.
class Sampler {
 public:
  explicit Sampler(StoppingRule rule = {}) : rule_(rule), is_warm_(rule.warm_window == 0) {}
  void add(double seconds);
  bool is_done() const { return !reason_.empty(); }
  bool is_warm() const { return is_warm_; }
  Summary summary() const;

 private:
  void add_warm_up(double seconds);
  StoppingRule rule_;
  bool is_warm_ = false;
  std::vector<double> warm_, samples_, half_widths_;
  double warm_time_ = 0, time_ = 0;
  std::string reason_;
};
}  // namespace stepcast::calibrate
