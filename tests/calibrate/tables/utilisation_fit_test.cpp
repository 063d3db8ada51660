#include <cmath>

#include "calibrate/tables/utilisation_fit.hpp"
#include "sim/cost/utilisation_lookup.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
/// 0.5 * sqrt(m / 4096): log utilisation is linear in log m, so a grid reproduces it between its
/// nodes.
double law(double m) { return 0.5 * std::sqrt(m / 4096); }
std::vector<ShapeSample> samples_of_law() {
  std::vector<ShapeSample> samples;
  for (double m = 64; m <= 4096; m *= 2)
    for (double n = 64; n <= 1024; n *= 2) samples.push_back({{m, n, 0, 0}, law(m)});
  return samples;
}
}  // namespace

TEST_CASE("a grid fitted to a power law reproduces it between the measured shapes", "[calibrate]") {
  const KernelFamily family = fit_grid("f", {"m", "n"}, samples_of_law(), "test");
  const UtilisationLookup lookup(family);
  for (const double m : {100.0, 300.0, 2000.0})
    REQUIRE(lookup.at({m, 333}).value == Approx(law(m)).epsilon(1e-4));
}

TEST_CASE("values within three percent share a grid node", "[calibrate]") {
  std::vector<ShapeSample> samples{{{64, 8, 0, 0}, 0.2},
                                   {{65, 8, 0, 0}, 0.2},
                                   {{128, 8, 0, 0}, 0.4},
                                   {{64, 16, 0, 0}, 0.2},
                                   {{128, 16, 0, 0}, 0.4}};
  const KernelFamily family = fit_grid("f", {"m", "n"}, samples, "test");
  REQUIRE(family.grid->axes[0].size() == 2);
  // the geometric mean of 64 and 65
  REQUIRE(family.grid->axes[0][0] == Approx(std::sqrt(64.0 * 65)));
}

TEST_CASE("a node that nobody measured is filled from its neighbours", "[calibrate]") {
  std::vector<ShapeSample> samples = samples_of_law();
  std::erase_if(samples, [](const ShapeSample& s) { return s.at[0] == 512 && s.at[1] == 256; });
  const KernelFamily family = fit_grid("f", {"m", "n"}, samples, "test");
  // its neighbours along m average to the law's value, those along n are equal to it
  REQUIRE(UtilisationLookup(family).at({512, 256}).value == Approx(law(512)).epsilon(1e-3));
}

TEST_CASE("points of one bucket are averaged in the logarithm", "[calibrate]") {
  const std::vector<ShapeSample> samples{
      {{1000, 0, 0, 0}, 0.2}, {{1030, 0, 0, 0}, 0.8}, {{4096, 0, 0, 0}, 0.5}};
  const KernelFamily family = fit_points("f", {"s"}, {}, {2, 0, 0, 0}, samples, "test");
  REQUIRE(family.points.size() == 2);
  REQUIRE(family.points[0].utilisation == Approx(0.4));  // sqrt(0.2 * 0.8)
  REQUIRE(std::exp2(family.points[0].features[0]) == Approx(1024));
}

TEST_CASE("a fitted utilisation never exceeds one", "[calibrate]") {
  const KernelFamily family =
      fit_points("f", {"s"}, {}, {2, 0, 0, 0}, {{{64, 0, 0, 0}, 1.4}}, "test");
  REQUIRE(family.points[0].utilisation == 1.0F);
}

TEST_CASE("noise raises the hold-out error by about its size", "[calibrate]") {
  const auto fit = [](const std::vector<ShapeSample>& s) {
    return fit_grid("f", {"m", "n"}, s, "test");
  };
  // 35 shapes with a quarter left out: missing corners cost a few percent even of an exact law.
  const double exact = hold_out_error(samples_of_law(), fit);
  std::vector<ShapeSample> noisy = samples_of_law();
  for (std::size_t i = 0; i < noisy.size(); ++i) noisy[i].utilisation *= i % 2 == 0 ? 0.8 : 1.25;
  REQUIRE(exact < 0.1);
  REQUIRE(hold_out_error(noisy, fit) > exact + 0.1);
}
