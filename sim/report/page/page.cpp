#include "sim/report/page/page.hpp"

#include <fmt/format.h>

#include <cctype>

#include "sim/report/chart/markup.hpp"

namespace stepcast {
namespace {
/// The charts are drawn for paper. Under a dark scheme style rules, which stand above an SVG
/// element's own attributes, exchange ink, grid and ground (colours of sim/report/chart/theme.hpp);
/// lines and markers keep theirs, which are told apart on both.
constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --ink: #212529; --soft: #5c636a; --ground: #ffffff;
  --line: #dee2e6; --stripe: #f5f6f8; }
body { margin: 2rem auto; max-width: 62rem; padding: 0 1rem; background: var(--ground);
  color: var(--ink); font: 16px/1.5 Helvetica, Arial, sans-serif; }
h1 { font-size: 1.6rem; margin-bottom: 0; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.subtitle { color: var(--soft); margin-top: .2rem; }
.headline { font-size: 1.2rem; border-left: .3rem solid #0072b2; padding-left: 1rem; }
svg { width: 100%; height: auto; margin: .5rem 0 1.5rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .9rem; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
th { white-space: nowrap; } td.number, th.number { text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
tbody tr:nth-child(even) { background: var(--stripe); }
pre { background: var(--stripe); padding: .8rem; overflow-x: auto; font-size: .85rem; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e9ecef; --soft: #adb5bd; --ground: #16181c; --line: #343a40; --stripe: #1e2126; }
  svg [fill="#ffffff"] { fill: #16181c; } svg [fill="#212529"] { fill: #e9ecef; }
  svg [fill="#6c757d"] { fill: #adb5bd; } svg [fill="#e2e6ea"] { fill: #343a40; }
  svg [stroke="#e2e6ea"] { stroke: #343a40; } svg [stroke="#5a5a5a"] { stroke: #c0c0c0; }
  svg [fill="#5a5a5a"] { fill: #c0c0c0; } svg [fill="#0072b2"] { fill: #56a8e0; }
  svg [stroke="#0072b2"] { stroke: #56a8e0; }
}
)";

/// Starts like a number: "12.3 s", "-4 %", "1.2 M".
bool is_number(const std::string& cell) {
  const std::size_t at = !cell.empty() && cell[0] == '-' ? 1 : 0;
  return at < cell.size() && std::isdigit(static_cast<unsigned char>(cell[at])) != 0;
}

/// A column whose cells, where they are not empty, are numbers.
std::vector<bool> number_columns(const PageTable& table) {
  std::vector<bool> columns(table.header.size(), true);
  for (const auto& row : table.rows)
    for (std::size_t i = 0; i < columns.size() && i < row.size(); ++i)
      columns[i] = columns[i] && (row[i].empty() || is_number(row[i]));
  return columns;
}

std::string table_html(const PageTable& table) {
  const std::vector<bool> is_numeric = number_columns(table);
  const auto cells = [&](const std::vector<std::string>& row, const char* tag) {
    std::string out = "<tr>";
    for (std::size_t i = 0; i < table.header.size(); ++i)
      out += fmt::format("<{0}{1}>{2}</{0}>", tag, is_numeric[i] ? " class=\"number\"" : "",
                         markup_escaped(i < row.size() ? row[i] : ""));
    return out + "</tr>\n";
  };
  std::string out = "<h2>" + markup_escaped(table.title) + "</h2>\n<div class=\"wide\"><table>\n";
  out += "<thead>" + cells(table.header, "th") + "</thead>\n<tbody>\n";
  for (const auto& row : table.rows) out += cells(row, "td");
  return out + "</tbody></table></div>\n";
}

/// The drawing, named for readers who do not see it.
template <typename AnyChart>
std::string chart_html(const AnyChart& chart) {
  return "<figure role=\"img\" aria-label=\"" + markup_escaped(chart.title) + "\">\n" +
         chart_svg(chart) + "</figure>\n";
}
}  // namespace

std::string html_of(const Page& page) {
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  out +=
      "<title>" + markup_escaped(page.title) + "</title>\n<style>" + kStyle + "</style>\n</head>\n";
  out += "<body>\n<h1>" + markup_escaped(page.title) + "</h1>\n";
  out += "<p class=\"subtitle\">" + markup_escaped(page.subtitle) + "</p>\n";
  out += "<p class=\"headline\">" + markup_escaped(page.headline) + "</p>\n";
  for (const auto& chart : page.charts)
    out += std::visit([](const auto& drawn) { return chart_html(drawn); }, chart);
  for (const PageTable& table : page.tables) out += table_html(table);
  out += "<h2>Assumptions and provenance</h2>\n<ul>\n";
  for (const std::string& line : page.assumptions) out += "<li>" + markup_escaped(line) + "</li>\n";
  out +=
      "</ul>\n<h2>To make this page again</h2>\n<pre>" + markup_escaped(page.command) + "</pre>\n";
  for (const auto& [name, content] : page.inputs)
    out += "<details><summary>" + markup_escaped(name) + "</summary>\n<pre>" +
           markup_escaped(content) + "</pre></details>\n";
  return out + "</body>\n</html>\n";
}
}  // namespace stepcast
