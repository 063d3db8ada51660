#include "sim/cost/utilisation_lookup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace stepcast {
namespace {
/// Six neighbours and a soft core of a tenth of an octave: best mean error on held-out GEMM and
/// attention shapes of six GPUs among 1..12 neighbours (notes of the fit,
/// scenarios/profiles/README.md).
constexpr std::size_t kNeighbours = 6;
constexpr double kSoftCore = 0.1;
/// Rounding of the stored edge to four digits must not flag a shape that was measured.
constexpr double kEdgeTolerance = 1.002;
}  // namespace

UtilisationLookup::UtilisationLookup(const KernelFamily& family) : family_(&family) {
  const std::size_t features = family.feature_names.size();
  for (std::size_t f = 0; f < family.feature_weights.size(); ++f)
    weight_[f] = family.feature_weights[f];
  low_.fill(std::numeric_limits<double>::max());
  if (family.grid) {
    for (std::size_t f = 0; f < features; ++f) {
      low_[f] = family.grid->axes[f].front();
      high_[f] = family.grid->axes[f].back();
    }
    for (const float u : family.grid->utilisation)
      log_grid_.push_back(std::log(static_cast<double>(u)));
    return;
  }
  for (const UtilisationPoint& point : family.points) {
    Node node;
    for (std::size_t f = 0; f < features; ++f) {
      const double log_shape = static_cast<double>(point.features[f]);
      node.at[f] = weight_[f] * log_shape;
      low_[f] = std::min(low_[f], std::exp2(log_shape));
      high_[f] = std::max(high_[f], std::exp2(log_shape));
    }
    node.log_utilisation = std::log(static_cast<double>(point.utilisation));
    nodes_.push_back(node);
  }
  std::sort(nodes_.begin(), nodes_.end(), [](const Node& a, const Node& b) { return a.at < b.at; });
}

std::string UtilisationLookup::named(const Features& shape) const {
  std::string text = family_->name + " at";
  for (std::size_t f = 0; f < family_->feature_names.size(); ++f)
    text += fmt::format(" {}={:.4g}", family_->feature_names[f], shape[f]);
  return text;
}

Utilisation UtilisationLookup::at(const Features& shape) const {
  Features held = shape;
  bool inside = true;
  for (std::size_t f = 0; f < family_->feature_names.size(); ++f) {
    held[f] = std::clamp(shape[f], low_[f], high_[f]);
    inside = inside && shape[f] <= held[f] * kEdgeTolerance && shape[f] * kEdgeTolerance >= held[f];
  }
  Utilisation found = family_->grid ? on_grid(held) : among_points(held);
  if (!inside) {
    found.is_inside = false;
    if (found.nearest_measured.empty()) found.nearest_measured = named(held);
  }
  return found;
}

Utilisation UtilisationLookup::on_grid(const Features& shape) const {
  const auto& axes = family_->grid->axes;
  const std::size_t features = axes.size();
  std::array<std::size_t, 4> node{};
  std::array<double, 4> fraction{};
  for (std::size_t f = 0; f < features; ++f) {
    const auto& axis = axes[f];
    const auto above = std::upper_bound(axis.begin() + 1, axis.end() - 1, shape[f]);
    node[f] = static_cast<std::size_t>(above - axis.begin()) - 1;
    fraction[f] = std::clamp(
        std::log(shape[f] / axis[node[f]]) / std::log(axis[node[f] + 1] / axis[node[f]]), 0.0, 1.0);
  }
  double log_utilisation = 0;
  for (std::size_t corner = 0; corner < (std::size_t{1} << features); ++corner) {
    double weight = 1;
    std::size_t index = 0;
    for (std::size_t f = 0; f < features; ++f) {
      const std::size_t upper = (corner >> f) & 1U;
      weight *= upper != 0 ? fraction[f] : 1 - fraction[f];
      index = index * axes[f].size() + node[f] + upper;
    }
    if (weight > 0) log_utilisation += weight * log_grid_[index];
  }
  return {std::exp(log_utilisation), true, ""};
}

Utilisation UtilisationLookup::among_points(const Features& shape) const {
  const std::size_t features = family_->feature_names.size();
  std::array<double, 4> query{};
  for (std::size_t f = 0; f < features; ++f) query[f] = weight_[f] * std::log2(shape[f]);

  struct Near {
    double distance;
    const Node* node;
  };
  std::array<Near, kNeighbours> best;
  std::size_t found = 0;
  const auto farthest = [&] {
    return found < kNeighbours ? std::numeric_limits<double>::infinity() : best[found - 1].distance;
  };
  const auto consider = [&](const Node& node) {
    double squared = 0;
    for (std::size_t f = 0; f < features; ++f)
      squared += (node.at[f] - query[f]) * (node.at[f] - query[f]);
    const double distance = std::sqrt(squared);
    if (distance >= farthest()) return;
    std::size_t slot = found < kNeighbours ? found++ : kNeighbours - 1;
    for (; slot > 0 && best[slot - 1].distance > distance; --slot) best[slot] = best[slot - 1];
    best[slot] = {distance, &node};
  };
  // Outwards from the query along the first feature; a side is finished once that feature alone is
  // too far.
  auto up = std::lower_bound(nodes_.begin(), nodes_.end(), query[0],
                             [](const Node& n, double x) { return n.at[0] < x; });
  auto down = up;
  while (true) {
    const bool has_up = up != nodes_.end() && up->at[0] - query[0] < farthest();
    const bool has_down = down != nodes_.begin() && query[0] - std::prev(down)->at[0] < farthest();
    if (!has_up && !has_down) break;
    if (has_up) consider(*up++);
    if (has_down) consider(*--down);
  }
  double sum = 0, weights = 0;
  for (std::size_t i = 0; i < found; ++i) {
    const double weight = 1 / ((best[i].distance + kSoftCore) * (best[i].distance + kSoftCore));
    sum += weight * best[i].node->log_utilisation;
    weights += weight;
  }
  Utilisation result{std::exp(sum / weights), true, ""};
  // A hole inside the bounding box is no better than its outside: two octaves from everything is
  // not an interpolation.
  constexpr double kHole = 2.0;
  Features nearest{};
  for (std::size_t f = 0; f < features; ++f)
    nearest[f] = std::exp2(best[0].node->at[f] / weight_[f]);
  if (best[0].distance > kHole) {
    result.is_inside = false;
    result.nearest_measured = named(nearest);
  }
  return result;
}
}  // namespace stepcast
