// Two roads, one answer: the same random traffic on both sharing networks.
#include <cmath>
#include <vector>

#include "sim/core/random.hpp"
#include "sim/engine/network.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
struct Outcome {
  std::vector<double> ends;     // per flow; -1 when cancelled
  std::vector<double> carried;  // per link
};

// Flows arrive over time on routes of 1 to 4 links, some are cancelled, some links change capacity
// (also down to 0 and back).
Outcome random_traffic(EngineKind kind, std::uint64_t seed) {
  const auto network = make_network(kind);
  std::uint64_t counter = 0;
  const auto draw = [&](std::uint64_t below) { return mixed_bits(seed, ++counter) % below; };
  const auto uniform = [&] { return uniform_from_bits(mixed_bits(seed, ++counter)); };
  Outcome outcome;
  std::vector<LinkId> links;
  std::vector<double> capacity;
  for (std::uint64_t i = 0; i < 5 + draw(40); ++i) {
    capacity.push_back(1e9 * (1 + 49 * uniform()));
    links.push_back(network->link("link" + std::to_string(i), capacity.back()));
  }
  const std::size_t flows = 20 + draw(200);
  outcome.ends.assign(flows, 0.0);
  double delivered = 0;
  for (std::size_t i = 0; i < flows; ++i) {
    std::vector<LinkId> route;
    for (std::uint64_t hops = 1 + draw(4); hops > 0; --hops)
      route.push_back(links[draw(links.size())]);
    const double bytes = std::exp(std::log(1e3) + uniform() * std::log(1e7));  // 1 kB .. 10 GB
    const double at = draw(3) == 0 ? 0 : uniform();
    const bool is_cancelled = draw(10) == 0;
    const double after = 0.2 * uniform();
    network->after(at, [&, i, route, bytes, is_cancelled, after] {
      const auto handle = network->start_flow(route, bytes, [&, i, bytes, route] {
        outcome.ends[i] = network->now();
        delivered += bytes * static_cast<double>(route.size());
      });
      if (is_cancelled)
        network->after(after, [&, i, handle] {
          network->cancel_flow(handle);
          if (outcome.ends[i] == 0) outcome.ends[i] = -1;
        });
    });
  }
  for (std::uint64_t i = 0; i < 6; ++i) {
    const LinkId link = links[draw(links.size())];
    const double nominal = capacity[link], factor = i == 0 ? 0 : 0.2 + 1.5 * uniform(),
                 at = uniform();
    network->after(at,
                   [&, link, nominal, factor] { network->set_capacity(link, nominal * factor); });
    network->after(at + 0.3 * uniform(),
                   [&, link, nominal] { network->set_capacity(link, nominal); });
  }
  network->run();
  double carried = 0;
  bool any_cancelled = false;
  for (const LinkId link : links) {
    outcome.carried.push_back(network->bytes_carried(link));
    carried += outcome.carried.back();
  }
  for (const double end : outcome.ends) any_cancelled = any_cancelled || end < 0;
  // What was asked for was delivered: hop bytes of the flows that ended, plus what cancelled ones
  // moved before.
  REQUIRE(carried >= delivered * (1 - 1e-9));
  if (!any_cancelled) REQUIRE(carried == Approx(delivered).epsilon(1e-9));
  return outcome;
}
}  // namespace

TEST_CASE("simgrid and native date every flow alike", "[network]") {
  const std::uint64_t seed = GENERATE(range(1, 25));
  CAPTURE(seed);
  const Outcome simgrid = random_traffic(EngineKind::simgrid, seed);
  const Outcome native = random_traffic(EngineKind::native, seed);
  REQUIRE(simgrid.ends.size() == native.ends.size());
  for (std::size_t i = 0; i < native.ends.size(); ++i) {
    CAPTURE(i);
    REQUIRE(native.ends[i] != 0);
    // SimGrid's clock runs on through the seeds: a microsecond at 100 s has 1e-14 s of rounding per
    // event.
    REQUIRE(simgrid.ends[i] == Approx(native.ends[i]).epsilon(1e-9).margin(1e-12));
  }
  for (std::size_t i = 0; i < native.carried.size(); ++i)
    REQUIRE(simgrid.carried[i] == Approx(native.carried[i]).epsilon(1e-9).margin(1e-3));
}

TEST_CASE("no link carries more than its capacity allows at any time", "[network]") {
  // 40 flows over 6 links; every 10 ms each link's bytes since the last look are at most capacity x
  // 10 ms.
  const auto network = make_network(GENERATE(EngineKind::native, EngineKind::simgrid));
  std::vector<double> capacity, seen(6);
  std::vector<LinkId> links;
  for (int i = 0; i < 6; ++i) {
    capacity.push_back(1e9 * (i + 1));
    links.push_back(network->link("l", capacity.back()));
  }
  for (std::uint64_t i = 0; i < 40; ++i) {
    const std::vector<LinkId> route{links[mixed_bits(i) % 6], links[mixed_bits(i, 1) % 6]};
    network->after(0.01 * static_cast<double>(i),
                   [&, route] { network->start_flow(route, 2e8, {}); });
  }
  bool any_full = false;
  std::function<void()> look = [&] {
    for (std::size_t i = 0; i < 6; ++i) {
      const double carried = network->bytes_carried(links[i]);
      REQUIRE(carried - seen[i] <= capacity[i] * 0.01 * (1 + 1e-9));
      any_full = any_full || carried - seen[i] >= capacity[i] * 0.01 * (1 - 1e-9);
      seen[i] = carried;
    }
    if (network->now() < 1) network->after(0.01, look);
  };
  network->after(0.01, look);
  network->run();
  REQUIRE(any_full);
}

TEST_CASE("a chain of 100 thousand links that share flows is solved", "[network]") {
  // Flow i crosses links 100 i .. 100 i + 100, all of 2 B/s: the ends are shared by two, so all run
  // at 1 B/s and end together. SimGrid walks such a chain recursively.
  const auto network = make_network(GENERATE(EngineKind::native, EngineKind::simgrid));
  constexpr std::size_t kFlows = 1000, kLength = 100;
  std::vector<LinkId> links;
  for (std::size_t i = 0; i <= kFlows * kLength; ++i) links.push_back(network->link("l", 2));
  std::size_t ended = 0;
  for (std::size_t i = 0; i < kFlows; ++i)
    network->start_flow(std::span(links).subspan(i * kLength, kLength + 1), 3, [&] { ++ended; });
  network->run();
  REQUIRE(ended == kFlows);
  REQUIRE(network->now() == Approx(3).epsilon(1e-9));
}

TEST_CASE("networks are reproducible to the last bit", "[network]") {
  const auto kind = GENERATE(EngineKind::native);
  REQUIRE(random_traffic(kind, 7).ends == random_traffic(kind, 7).ends);
}
