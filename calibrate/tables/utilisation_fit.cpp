#include "calibrate/tables/utilisation_fit.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "sim/core/random.hpp"
#include "sim/cost/utilisation_lookup.hpp"

namespace stepcast {
namespace {
constexpr double kSameNode = 1.03;
constexpr double kFirstFeatureWeight = 3;
constexpr double kSmoothing = 0.3;

/// Geometric means of runs of values that lie closer than kSameNode to their run's first.
std::vector<double> clustered(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  std::vector<double> nodes;
  for (std::size_t i = 0; i < values.size();) {
    double logs = 0;
    std::size_t j = i;
    for (; j < values.size() && values[j] < kSameNode * values[i]; ++j) logs += std::log(values[j]);
    nodes.push_back(j - i == 1 ? values[i] : std::exp(logs / static_cast<double>(j - i)));
    i = j;
  }
  return nodes;
}
std::size_t nearest(const std::vector<double>& axis, double x) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < axis.size(); ++i)
    if (std::abs(std::log(axis[i] / x)) < std::abs(std::log(axis[best] / x))) best = i;
  return best;
}

/// Log utilisation on the nodes of a grid while it is being fitted; NaN where nothing is known yet.
struct LogGrid {
  std::vector<std::vector<double>> axes;
  std::vector<double> values;

  std::size_t stride(std::size_t feature) const {
    std::size_t product = 1;
    for (std::size_t f = feature + 1; f < axes.size(); ++f) product *= axes[f].size();
    return product;
  }
  /// Calls visit(neighbour index, feature) for the nodes one step away.
  template <class Visit>
  void neighbours(std::size_t node, Visit visit) const {
    for (std::size_t f = 0; f < axes.size(); ++f) {
      const std::size_t step = stride(f), at = node / step % axes[f].size();
      if (at > 0) visit(node - step, f);
      if (at + 1 < axes[f].size()) visit(node + step, f);
    }
  }
  void fill_empty_nodes() {
    for (bool any = true; any;) {
      any = false;
      std::vector<double> next = values;
      for (std::size_t node = 0; node < values.size(); ++node) {
        if (!std::isnan(values[node])) continue;
        double sum = 0, weights = 0;
        neighbours(node, [&](std::size_t near, std::size_t f) {
          if (std::isnan(values[near])) return;
          const double w = f == 0 ? kFirstFeatureWeight : 1.0;
          sum += w * values[near];
          weights += w;
        });
        if (weights > 0) next[node] = sum / weights, any = true;
      }
      values = std::move(next);
    }
  }
  void smooth_along_first() {
    const std::size_t step = stride(0);
    std::vector<double> next = values;
    for (std::size_t node = step; node + step < values.size(); ++node)
      next[node] = (1 - kSmoothing) * values[node] +
                   kSmoothing / 2 * (values[node - step] + values[node + step]);
    values = std::move(next);
  }
};
}  // namespace

KernelFamily fit_grid(std::string name, std::vector<std::string> features,
                      const std::vector<ShapeSample>& samples, std::string source) {
  KernelFamily family;
  family.name = std::move(name);
  family.feature_names = std::move(features);
  family.source = std::move(source);
  const std::size_t dimensions = family.feature_names.size();

  LogGrid grid;
  std::size_t nodes = 1;
  for (std::size_t f = 0; f < dimensions; ++f) {
    std::vector<double> values;
    for (const ShapeSample& s : samples) values.push_back(s.at[f]);
    grid.axes.push_back(clustered(std::move(values)));
    nodes *= grid.axes.back().size();
  }
  std::vector<double> sum(nodes, 0.0);
  std::vector<int> count(nodes, 0);
  for (const ShapeSample& s : samples) {
    std::size_t node = 0;
    for (std::size_t f = 0; f < dimensions; ++f)
      node = node * grid.axes[f].size() + nearest(grid.axes[f], s.at[f]);
    sum[node] += std::log(s.utilisation);
    ++count[node];
  }
  grid.values.resize(nodes);
  for (std::size_t node = 0; node < nodes; ++node)
    grid.values[node] = count[node] > 0 ? sum[node] / count[node] : std::nan("");
  grid.fill_empty_nodes();
  grid.smooth_along_first();

  family.grid.emplace();
  family.grid->axes = grid.axes;
  for (const double value : grid.values)
    family.grid->utilisation.push_back(static_cast<float>(std::min(1.0, std::exp(value))));
  return family;
}

KernelFamily fit_points(std::string name, std::vector<std::string> features,
                        std::vector<double> weights, std::array<double, 4> per_octave,
                        const std::vector<ShapeSample>& samples, std::string source) {
  KernelFamily family;
  family.name = std::move(name);
  family.feature_names = std::move(features);
  family.feature_weights = std::move(weights);
  family.source = std::move(source);
  struct Bucket {
    double log_utilisation = 0;
    int count = 0;
  };
  std::map<std::array<double, 4>, Bucket> buckets;
  for (const ShapeSample& s : samples) {
    std::array<double, 4> key{};
    for (std::size_t f = 0; f < family.feature_names.size(); ++f) {
      const double x = std::log2(s.at[f]);
      key[f] = per_octave[f] > 0 ? std::round(x * per_octave[f]) / per_octave[f] : x;
    }
    Bucket& bucket = buckets[key];
    bucket.log_utilisation += std::log(s.utilisation);
    ++bucket.count;
  }
  for (const auto& [key, bucket] : buckets) {
    UtilisationPoint point;
    for (std::size_t f = 0; f < 4; ++f) point.features[f] = static_cast<float>(key[f]);
    point.utilisation =
        static_cast<float>(std::min(1.0, std::exp(bucket.log_utilisation / bucket.count)));
    family.points.push_back(point);
  }
  return family;
}

bool is_held_out(const ShapeSample& sample) {
  std::uint64_t bits = 20261130;
  for (const double x : sample.at) {
    std::uint64_t pattern = 0;
    std::memcpy(&pattern, &x, sizeof pattern);
    bits = mixed_bits(bits ^ pattern);
  }
  return uniform_from_bits(bits) < 0.25;
}

double mean_time_error(const KernelFamily& family, const std::vector<ShapeSample>& samples) {
  const UtilisationLookup lookup(family);
  double sum = 0;
  for (const ShapeSample& s : samples) sum += std::abs(s.utilisation / lookup.at(s.at).value - 1);
  return sum / static_cast<double>(samples.size());
}
}  // namespace stepcast
