#include "sim/engine/network/max_min.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "sim/core/random.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
// Textbook progressive filling from zero (Bertsekas and Gallager, Data Networks, section 6.5.2):
// raise all flows together, freeze those on the link that fills first, repeat.
std::map<std::size_t, double> filled_from_zero(
    const std::vector<double>& capacity, const std::map<std::size_t, std::vector<LinkId>>& routes) {
  std::map<std::size_t, double> rates;
  std::vector<double> room = capacity;
  while (rates.size() < routes.size()) {
    std::vector<int> crossing(capacity.size());
    for (const auto& [flow, route] : routes)
      if (!rates.count(flow))
        for (const LinkId link : route) ++crossing[link];
    double share = 1e300;
    std::size_t fullest = 0;
    for (std::size_t link = 0; link < capacity.size(); ++link) {
      if (crossing[link] > 0 && room[link] / crossing[link] < share) {
        share = room[link] / crossing[link];
        fullest = link;
      }
    }
    const std::size_t before = rates.size();
    std::map<std::size_t, double> frozen;
    for (const auto& [flow, route] : routes)
      if (!rates.count(flow) && std::find(route.begin(), route.end(), fullest) != route.end())
        frozen[flow] = share;
    for (const auto& [flow, rate] : frozen) {
      rates[flow] = rate;
      for (const LinkId link : routes.at(flow)) room[link] -= rate;
    }
    REQUIRE(rates.size() > before);
  }
  return rates;
}
}  // namespace

TEST_CASE("incremental rates equal filling from zero after any change", "[network]") {
  const std::uint64_t seed = GENERATE(range(1, 25));
  CAPTURE(seed);
  std::uint64_t counter = 0;
  const auto draw = [&](std::uint64_t below) { return mixed_bits(seed, ++counter) % below; };
  const std::size_t links = 3 + draw(30);
  MaxMin rates;
  std::vector<double> capacity;
  for (std::size_t i = 0; i < links; ++i) {
    capacity.push_back(static_cast<double>(1 + draw(20)));
    rates.add_link(capacity.back());
  }
  std::map<std::size_t, std::vector<LinkId>> routes;
  for (int step = 0; step < 300; ++step) {
    // One to four changes, then a solve.
    for (std::uint64_t change = draw(4) + 1; change > 0; --change) {
      const auto kind = draw(10);
      if (kind < 6 || routes.empty()) {
        std::vector<LinkId> route;
        for (std::uint64_t hop = draw(4) + 1; hop > 0; --hop)
          route.push_back(static_cast<LinkId>(draw(links)));
        routes[rates.add_flow(route)] = route;
      } else if (kind < 9) {
        const auto victim =
            std::next(routes.begin(), static_cast<std::ptrdiff_t>(draw(routes.size())));
        rates.remove_flow(static_cast<MaxMin::FlowSlot>(victim->first));
        routes.erase(victim);
      } else {
        const auto link = static_cast<LinkId>(draw(links));
        capacity[link] = static_cast<double>(draw(20));  // 0: a link that is down
        rates.set_capacity(link, capacity[link]);
      }
    }
    rates.solve();
    for (const auto& [flow, rate] : filled_from_zero(capacity, routes))
      REQUIRE(rates.rate(static_cast<MaxMin::FlowSlot>(flow)) ==
              Approx(rate).epsilon(1e-9).margin(1e-12));
  }
}

TEST_CASE("rates without sharing are the narrowest capacity", "[network]") {
  MaxMin rates(MaxMin::Sharing::none);
  const LinkId a = rates.add_link(10), b = rates.add_link(4);
  const auto flow = rates.add_flow(std::vector{a, b});
  const auto other = rates.add_flow(std::vector{a});
  rates.solve();
  REQUIRE(rates.rate(flow) == 4);
  REQUIRE(rates.rate(other) == 10);
  rates.set_capacity(b, 7);
  rates.solve();
  REQUIRE(rates.rate(flow) == 7);
}
