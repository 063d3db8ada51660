#pragma once
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/report/chart/chart.hpp"

/// A report as one HTML file that needs nothing else: charts are inline SVG, colours follow the
/// reader's light or dark scheme.
namespace stepcast {
struct PageTable {
  std::string title;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  // as many cells as the header; numbers align right
};
struct Page {
  std::string title, subtitle;
  std::string headline;  // two sentences: the answer
  std::vector<std::variant<Chart, BarChart>> charts;
  std::vector<PageTable> tables;
  std::vector<std::string> assumptions;                     // and where figures come from
  std::string command;                                      // that makes this page again
  std::vector<std::pair<std::string, std::string>> inputs;  // file name, content
};
std::string html_of(const Page& page);
}  // namespace stepcast
