#include "sim/import/common/anomalies.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/io/json.hpp"

namespace stepcast {
namespace {
constexpr std::size_t kKeptPlaces = 5;  // enough to find the spot, few enough to print
}

void Anomalies::add(std::string_view name, Severity severity, std::string_view advice,
                    std::string_view place, std::int64_t count) {
  if (count <= 0) return;
  auto found =
      std::find_if(list_.begin(), list_.end(), [&](const Anomaly& a) { return a.name == name; });
  if (found == list_.end()) {
    list_.push_back({std::string(name), severity, std::string(advice), 0, {}});
    found = list_.end() - 1;
  }
  found->count += count;
  if (!place.empty() && found->places.size() < kKeptPlaces &&
      std::find(found->places.begin(), found->places.end(), place) == found->places.end())
    found->places.emplace_back(place);
}

void Anomalies::add(const Anomalies& others) {
  for (const Anomaly& a : others.list_) {
    const std::int64_t before = count_of(a.name);
    add(a.name, a.severity, a.advice, a.places.empty() ? "" : a.places.front(), a.count);
    for (const std::string& place : a.places) {
      auto& mine = *std::find_if(list_.begin(), list_.end(),
                                 [&](const Anomaly& m) { return m.name == a.name; });
      if (mine.places.size() < kKeptPlaces &&
          std::find(mine.places.begin(), mine.places.end(), place) == mine.places.end())
        mine.places.push_back(place);
    }
    STEPCAST_ASSERT(count_of(a.name) == before + a.count, "counts add up over merged imports");
  }
}

std::int64_t Anomalies::count_of(std::string_view name) const {
  for (const Anomaly& a : list_)
    if (a.name == name) return a.count;
  return 0;
}

std::string Anomalies::text() const {
  std::vector<Anomaly> sorted = list_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Anomaly& a, const Anomaly& b) { return a.severity > b.severity; });
  std::string out;
  for (const Anomaly& a : sorted) {
    out += fmt::format("  {:<7} {} x{}: {}\n", text_of(a.severity), a.name, a.count, a.advice);
    if (!a.places.empty())
      out += fmt::format("          at {}{}\n", joined(a.places),
                         a.count > std::int64_t(a.places.size()) ? ", ..." : "");
  }
  return out;
}

Json Anomalies::json() const {
  Json array = Json::array();
  for (const Anomaly& a : list_)
    array.push_back({{"name", a.name},
                     {"severity", text_of(a.severity)},
                     {"count", a.count},
                     {"advice", a.advice},
                     {"places", a.places}});
  return array;
}
}  // namespace stepcast
