#include "sim/timeline/lod/memory_counters.hpp"

#include <algorithm>
#include <cctype>
#include <string>

namespace stepcast::trace {
namespace {
std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}
bool tells_memory(const TraceStore& trace, const CounterSeries& series) {
  const std::string text = lower(trace.tracks()[series.track].label + " " + series.name);
  const auto has = [&](const char* word) { return text.find(word) != std::string::npos; };
  // "memory bandwidth", "memory utilization %" and the like are no amounts.
  return (has("memory") || has("allocated") || has("mem_")) && !has("bandwidth") && !has("util") &&
         !has("%") && !has("host");
}
}  // namespace

bool counts_bytes(const CounterSeries& series) {
  const std::string name = lower(series.name), word = "bytes";
  const std::size_t at = name.find(word);
  if (at == std::string::npos) return false;
  const bool has_prefix = at > 0 && std::isalpha(static_cast<unsigned char>(name[at - 1])) != 0;
  const std::string behind = name.substr(at + word.size());
  const bool is_rate = behind.starts_with("/") || behind.find("per ") != std::string::npos;
  return !has_prefix && !is_rate;
}

std::vector<std::uint32_t> memory_counters(const TraceStore& trace) {
  std::vector<std::uint32_t> of_rank(trace.ranks().size(), kNoId);
  const auto& all = trace.counters();
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if (!tells_memory(trace, all[i])) continue;
    std::uint32_t& chosen = of_rank[trace.tracks()[all[i].track].rank];
    if (chosen == kNoId || all[i].most > all[chosen].most) chosen = i;
  }
  return of_rank;
}
}  // namespace stepcast::trace
