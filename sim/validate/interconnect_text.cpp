#include <algorithm>
#include <cctype>
#include <regex>

#include "sim/validate/training_scenario.hpp"

namespace stepcast {

std::optional<NicText> nics_of_text(const std::string& text, std::int64_t gpus_per_node) {
  static const std::regex counted(R"((\d+)\s*x\s*(\d+(?:\.\d+)?)\s*G)", std::regex::icase);
  static const std::regex per_gpu(R"((\d+(?:\.\d+)?)\s*Gb/s[^,;]*per (?:GPU|accelerator))",
                                  std::regex::icase);
  static const std::regex per_node(R"((\d+(?:\.\d+)?)\s*Gb/s[^,;]*per node)", std::regex::icase);
  std::smatch found;
  if (std::regex_search(text, found, counted))
    return NicText{std::stoll(found[1]), std::stod(found[2])};
  if (std::regex_search(text, found, per_gpu)) return NicText{gpus_per_node, std::stod(found[1])};
  if (std::regex_search(text, found, per_node)) {
    // A total for the node: one NIC per GPU is how such nodes are built; only the sum matters to
    // the ports.
    return NicText{gpus_per_node, std::stod(found[1]) / static_cast<double>(gpus_per_node)};
  }
  return std::nullopt;
}

std::string transport_of_text(const std::string& text) {
  static const std::pair<std::regex, std::string> words[]{
      {std::regex("tcp|socket", std::regex::icase), "tcp"},
      {std::regex("omni-?path", std::regex::icase), "omnipath"},
      {std::regex("slingshot", std::regex::icase), "slingshot"},
      {std::regex("efa", std::regex::icase), "efa"},
      {std::regex("roce|bnxt|gib\\b", std::regex::icase), "roce"},
      {std::regex("infiniband|\\bib\\b|hdr|ndr", std::regex::icase), "infiniband"}};
  for (const auto& [pattern, transport] : words)
    if (std::regex_search(text, pattern)) return transport;
  return "";
}
}  // namespace stepcast
