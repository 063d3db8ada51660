#pragma once
#include <array>
#include <string>
#include <vector>

#include "sim/profile/kernel_profile.hpp"

namespace stepcast {

/// A family's coordinates of one shape, in natural units (m, n, k); unused ones are ignored.
using Features = std::array<double, 4>;

struct Utilisation {
  double value = 0;
  bool is_inside = true;         // within the measured range of every feature
  std::string nearest_measured;  // "m=32768 n=4096 k=4096", filled when outside
};

/// Utilisation of an unseen shape from the measured ones of its family.
/// Grid  : multilinear between the 2^d nodes around the shape; log utilisation against log shape.
/// Points: the six nearest in log2 space, weight 1 / (distance + 0.1)^2, again on log utilisation.
/// Latency is never
///         borrowed: two shapes one octave apart differ twofold in time but little in utilisation.
/// Outside the measured range the edge is held and the result says so.
class UtilisationLookup {
 public:
  explicit UtilisationLookup(const KernelFamily& family);
  Utilisation at(const Features& shape) const;

 private:
  Utilisation on_grid(const Features& shape) const;
  Utilisation among_points(const Features& shape) const;
  std::string named(const Features& shape) const;

  const KernelFamily* family_;
  struct Node {
    std::array<double, 4> at{};
    double log_utilisation = 0;
  };                         // weighted log2 coordinates
  std::vector<Node> nodes_;  // rising in at[0]
  std::vector<double> log_grid_;
  std::array<double, 4> low_{}, high_{}, weight_{1, 1, 1, 1};  // measured range, natural units
};
}  // namespace stepcast
