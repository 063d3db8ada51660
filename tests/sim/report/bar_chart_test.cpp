#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "sim/report/chart/chart.hpp"
#include "sim/report/chart/theme.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
namespace {
struct Bar {
  double x = 0, y = 0, width = 0;
  std::string fill;
  double end() const { return x + width; }
};
/// The rectangles of a drawing that are as high as a bar.
std::vector<Bar> bars_of(const std::string& svg) {
  std::vector<Bar> bars;
  const auto number = [&](std::size_t at, const char* name) {
    const std::string key = std::string(name) + "=\"";
    return std::strtod(svg.c_str() + svg.find(key, at) + key.size(), nullptr);
  };
  for (std::size_t at = svg.find("<rect x="); at != std::string::npos;
       at = svg.find("<rect x=", at + 1))
    if (number(at, "height") == 18)
      bars.push_back({number(at, " x"), number(at, " y"), number(at, " width"),
                      svg.substr(svg.find("fill=\"", at) + 6, 7)});
  return bars;
}
BarChart two_rows() {
  BarChart chart;
  chart.title = "Where it goes";
  chart.axis = "s";
  chart.rows = {"fsdp <2>", "megatron"};
  chart.parts = {{"compute", {6, 3}}, {"bubble", {2, NAN}}, {"other", {0, 1}}};
  chart.labels = {"8 s", "4 s"};
  return chart;
}
}  // namespace

TEST_CASE("parts of a bar follow one another and rows share one scale", "[report]") {
  const std::string svg = chart_svg(two_rows());
  const std::vector<Bar> bars = bars_of(svg);
  REQUIRE(bars.size() == 4);  // nothing is drawn for 0 and NaN
  CHECK(bars[0].width == Approx(2 * bars[2].width).epsilon(1e-3));  // 6 s against 3 s
  CHECK(bars[0].width == Approx(3 * bars[1].width).epsilon(1e-3));  // 6 s against 2 s
  CHECK(bars[1].x == Approx(bars[0].end()).margin(0.02));
  CHECK(bars[3].x == Approx(bars[2].end()).margin(0.02));
  CHECK(bars[0].x == bars[2].x);
  CHECK(bars[0].y < bars[2].y);
  CHECK(bars[0].fill == bars[2].fill);
  CHECK(bars[0].fill != bars[1].fill);
  for (const char* text : {"fsdp &lt;2&gt;", "megatron", ">8 s<", ">compute<", ">bubble<"}) {
    INFO(text);
    CHECK(svg.find(text) != std::string::npos);
  }
  for (const Bar& bar : bars) CHECK(bar.end() < chart_theme::kWidth);
}

TEST_CASE("a limit widens the scale and rows that are no choice are pale", "[report]") {
  BarChart chart = two_rows();
  const std::vector<Bar> plain = bars_of(chart_svg(chart));
  chart.limit = 80;
  chart.limit_name = "a GPU has 80 GiB";
  chart.is_muted = {true, false};
  const std::string svg = chart_svg(chart);
  const std::vector<Bar> bars = bars_of(svg);
  REQUIRE(bars.size() == plain.size());
  CHECK(bars[0].width < 0.2 * plain[0].width);
  CHECK(bars[0].fill != plain[0].fill);
  CHECK(bars[2].fill == plain[2].fill);
  CHECK(svg.find("a GPU has 80 GiB") != std::string::npos);
  CHECK(svg.find("stroke-dasharray") != std::string::npos);
}
