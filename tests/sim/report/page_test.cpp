#include "sim/report/page/page.hpp"

#include "sim/report/chart/markup.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
Page small_page() {
  Page page;
  page.title = "A <script>alert(1)</script> & \"more\"";
  page.subtitle = "two nodes";
  page.headline = "It's fast. It fits.";
  Chart chart;
  chart.title = "t\" onload=\"alert(2)";
  chart.x.title = "nodes";
  chart.y.title = "step (s)";
  chart.series.push_back({.name = "</svg><b>", .x = {1, 2}, .y = {3, 4}, .labels = {}});
  page.charts.push_back(chart);
  page.tables.push_back({"rows", {"name", "step"}, {{"a<b", "1.5 s"}, {"c", ""}}});
  page.assumptions = {"none"};
  page.command = "stepcast report scaling 'x y'";
  page.inputs = {{"x.json", "{\"name\": \"</pre><script>\"}"}};
  return page;
}
std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}
}  // namespace

TEST_CASE("no text of a scenario becomes markup", "[report]") {
  const std::string html = html_of(small_page());
  CHECK(html.find("<script") == std::string::npos);
  CHECK(html.find("<b>") == std::string::npos);
  CHECK(html.find("onload=\"") == std::string::npos);
  CHECK(count_of(html, "</svg>") == 1);
  CHECK(html.find("a&lt;b") != std::string::npos);
  CHECK(markup_escaped("a\x01'\"&\n") == "a&#39;&quot;&amp;\n");
}

TEST_CASE("a page stands alone and follows the reader's scheme", "[report]") {
  const std::string html = html_of(small_page());
  for (const char* outside : {"src=", "href=", "@import", "url("}) {
    INFO(outside);
    CHECK(html.find(outside) == std::string::npos);
  }
  // The one address is the SVG name space.
  CHECK(count_of(html, "http") == count_of(html, "http://www.w3.org/2000/svg"));
  CHECK(html.find("prefers-color-scheme: dark") != std::string::npos);
  // The answer stands before the first chart, the chart before the table, the inputs last.
  CHECK(html.find("It&#39;s fast.") < html.find("<svg"));
  CHECK(html.find("<svg") < html.find("<table"));
  CHECK(html.find("<table") < html.find("<details"));
}

TEST_CASE("columns of numbers align right and others left", "[report]") {
  const std::string html = html_of(small_page());
  CHECK(html.find("<th>name</th><th class=\"number\">step</th>") != std::string::npos);
  CHECK(html.find("<td>c</td><td class=\"number\"></td>") != std::string::npos);
}
