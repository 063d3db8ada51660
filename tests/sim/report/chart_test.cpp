#include "sim/report/chart/chart.hpp"

#include <unistd.h>
#include <zlib.h>

#include <cmath>
#include <filesystem>

#include "sim/io/files.hpp"
#include "sim/report/chart/canvas.hpp"
#include "sim/report/chart/png.hpp"
#include "sim/report/chart/stroke_font.hpp"
#include "sim/report/chart/ticks.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
namespace {
std::uint32_t big_endian_at(const std::string& s, std::size_t at) {
  std::uint32_t v = 0;
  for (std::size_t i = 0; i < 4; ++i) v = v << 8 | static_cast<unsigned char>(s[at + i]);
  return v;
}
struct Image {
  int width = 0, height = 0;
  std::string rows;
  std::size_t dark = 0;
};
/// Walks the chunks, checks each CRC and inflates the pixels.
Image decoded(const std::string& png) {
  Image image;
  REQUIRE(png.substr(0, 8) == "\x89PNG\r\n\x1a\n");
  std::string packed;
  for (std::size_t at = 8; at < png.size();) {
    const std::size_t length = big_endian_at(png, at);
    const std::string body = png.substr(at + 4, 4 + length);
    CHECK(big_endian_at(png, at + 8 + length) ==
          crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size())));
    if (body.starts_with("IHDR")) {
      image.width = static_cast<int>(big_endian_at(body, 4));
      image.height = static_cast<int>(big_endian_at(body, 8));
    }
    if (body.starts_with("IDAT")) packed += body.substr(4);
    at += 12 + length;
  }
  uLongf size = (static_cast<uLongf>(image.width) * 3 + 1) * static_cast<uLongf>(image.height);
  image.rows.resize(size);
  REQUIRE(uncompress(reinterpret_cast<Bytef*>(image.rows.data()), &size,
                     reinterpret_cast<const Bytef*>(packed.data()),
                     static_cast<uLong>(packed.size())) == Z_OK);
  for (const char c : image.rows)
    if (static_cast<unsigned char>(c) > 0 && static_cast<unsigned char>(c) < 128) ++image.dark;
  return image;
}
Chart scaling_chart() {
  Chart chart;
  chart.title = "Throughput <of> \"a\" & b";
  chart.x = {.title = "nodes", .is_log = true, .categories = {}};
  chart.y = {.title = "throughput (tokens/s)", .is_log = true, .categories = {}};
  chart.series.push_back({.name = "simulated", .x = {1, 2, 4}, .y = {100, 190, 360}, .labels = {}});
  chart.series.push_back(
      {.name = "linear", .x = {1, 2, 4}, .y = {100, 200, 400}, .labels = {}, .is_dashed = true});
  return chart;
}
std::string drawn(const Chart& chart, const std::string& ending) {
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("stepcast_chart_" + std::to_string(getpid()) + ending))
                               .string();
  write_chart(chart, path);
  std::string content = read_file(path).value_or_throw();
  std::filesystem::remove(path);
  return content;
}
}  // namespace

TEST_CASE("a PNG holds the pixels it was given behind sound checksums", "[report]") {
  // 2 x 1: red, then blue; each row starts with filter byte 0
  const Image image = decoded(png_of(2, 1, {255, 0, 0, 0, 0, 255}));
  CHECK(image.width == 2);
  CHECK(image.height == 1);
  CHECK(image.rows == std::string("\0\xff\0\0\0\0\xff", 7));
}

TEST_CASE("a chart as PNG has ink on it", "[report]") {
  const Image image = decoded(drawn(scaling_chart(), ".png"));
  CHECK(image.width == 1920);
  CHECK(image.height == 1200);
  CHECK(image.dark > 5000);
}

TEST_CASE("a chart as SVG has titles and units and legend and escapes its texts", "[report]") {
  const std::string svg = drawn(scaling_chart(), ".svg");
  for (const char* part :
       {"Throughput &lt;of&gt; &quot;a&quot; &amp; b", ">nodes</text>",
        ">throughput (tokens/s)</text>", ">simulated</text>", ">linear</text>", "stroke-dasharray"})
    CHECK(svg.find(part) != std::string::npos);
}

TEST_CASE("points that cannot be drawn are left out", "[report]") {
  Chart chart = scaling_chart();
  chart.series[0].y[1] = 0;  // no place on a log axis
  chart.series[0].y[2] = NAN;
  const std::string svg = drawn(chart, ".svg");
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
  chart.series.clear();
  CHECK(drawn(chart, ".svg").find("</svg>") != std::string::npos);
}

TEST_CASE("a chart of another ending is refused", "[report]") {
  CHECK_THROWS_AS(write_chart(scaling_chart(), "/tmp/chart.jpg"), InputError);
}

TEST_CASE("ticks are round and enclose the data", "[report]") {
  CHECK(axis_scale(3, 47, false, false).ticks == std::vector<double>{0, 10, 20, 30, 40, 50});
  CHECK(axis_scale(1, 1024, true, true).ticks.size() == 11);  // 2^0 ... 2^10
  CHECK(axis_scale(2e3, 9e6, true, false).ticks == std::vector<double>{1e3, 1e4, 1e5, 1e6, 1e7});
  // half way between 1 and 100 on a log axis is 10
  CHECK(axis_scale(1, 100, true, false).share_of(10) == Approx(0.5));
  CHECK(tick_text(1.5e6) == "1.5 M");
  CHECK(tick_text(0.25) == "0.25");
}

TEST_CASE("every printable character has strokes within its line", "[report]") {
  for (char c = 33; c < 127; ++c) {
    INFO(c);
    const Glyph& glyph = glyph_of(c);
    REQUIRE_FALSE(glyph.strokes.empty());
    for (const auto& stroke : glyph.strokes)
      for (const Point& p : stroke) {
        CHECK(p.x >= -0.5);
        CHECK(p.x <= glyph.advance + 0.5);
        CHECK(p.y >= -3.5);
        CHECK(p.y <= 11.5);
      }
  }
  CHECK(text_width("mm", 14) == Approx(2 * glyph_of('m').advance));
}
