#include "sim/engine/network.hpp"

#include <algorithm>
#include <vector>

#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
// Engines that share links.
std::unique_ptr<Network> sharing_network() {
  return make_network(GENERATE(EngineKind::native, EngineKind::simgrid));
}
}  // namespace

TEST_CASE("two equal flows on one link each take twice as long", "[network]") {
  // 10 B/s, 2 x 100 B: both at 5 B/s, done at 20 s.
  const auto network = sharing_network();
  const std::vector<LinkId> route{network->link("a", 10)};
  double first = 0, second = 0;
  network->start_flow(route, 100, [&] { first = network->now(); });
  network->start_flow(route, 100, [&] { second = network->now(); });
  network->run();
  REQUIRE(first == Approx(20).epsilon(1e-12));
  REQUIRE(second == Approx(20).epsilon(1e-12));
  REQUIRE(network->bytes_carried(route[0]) == Approx(200).epsilon(1e-12));
}

TEST_CASE("a flow speeds up when the other one ends", "[network]") {
  // 10 B/s; 50 B and 150 B. Shared at 5 B/s until 10 s (50 B each); then 100 B at 10 B/s: 20 s.
  const auto network = sharing_network();
  const std::vector<LinkId> route{network->link("a", 10)};
  double small = 0, large = 0;
  network->start_flow(route, 50, [&] { small = network->now(); });
  network->start_flow(route, 150, [&] { large = network->now(); });
  network->run();
  REQUIRE(small == Approx(10).epsilon(1e-12));
  REQUIRE(large == Approx(20).epsilon(1e-12));
}

TEST_CASE("three flows over two links get the max-min shares", "[network]") {
  // Links a 10, b 16. long: a b; short_a: a; short_b: b.
  // Bertsekas-Gallager filling: a gives 5 to long and short_a; b leaves 16 - 5 = 11 to short_b.
  // Bytes 50, 100, 99: short_b ends at 9; long at 10; short_a has 50 left at 10, then alone at 10
  // B/s: 15.
  const auto network = sharing_network();
  const LinkId a = network->link("a", 10), b = network->link("b", 16);
  double both = 0, on_a = 0, on_b = 0;
  network->start_flow(std::vector{a, b}, 50, [&] { both = network->now(); });
  network->start_flow(std::vector{a}, 100, [&] { on_a = network->now(); });
  network->start_flow(std::vector{b}, 99, [&] { on_b = network->now(); });
  network->run();
  REQUIRE(on_b == Approx(9).epsilon(1e-12));
  REQUIRE(both == Approx(10).epsilon(1e-12));
  REQUIRE(on_a == Approx(15).epsilon(1e-12));
}

TEST_CASE("a late flow squeezes one whose bottleneck was elsewhere", "[network]") {
  // a 10 shared by x (a) and y (a b), 5 each; b 20. At 2 s five flows join on b: y is one of 6
  // there, 20/6 < 5, so x rises to 10 - 20/6 = 20/3. x has 100 - 10 = 90 left: done at 2 + 90 /
  // (20/3) = 15.5 s, before the joiners (1000 B each) end.
  const auto network = sharing_network();
  const LinkId a = network->link("a", 10), b = network->link("b", 20);
  double x = 0;
  network->start_flow(std::vector{a}, 100, [&] { x = network->now(); });
  network->start_flow(std::vector{a, b}, 1000, {});
  network->after(2, [&] {
    for (int i = 0; i < 5; ++i) network->start_flow(std::vector{b}, 1000, {});
  });
  network->run();
  REQUIRE(x == Approx(15.5).epsilon(1e-12));
}

TEST_CASE("capacity changes act on flows under way in both directions", "[network]") {
  // 200 B at 10 B/s; 20 B/s from 5 s (50 B done), 5 B/s from 10 s (150 B done): 50 B at 5 B/s end
  // at 20 s.
  const auto network = sharing_network();
  const std::vector<LinkId> route{network->link("a", 10)};
  double end = 0;
  network->start_flow(route, 200, [&] { end = network->now(); });
  network->after(5, [&] { network->set_capacity(route[0], 20); });
  network->after(10, [&] { network->set_capacity(route[0], 5); });
  network->run();
  REQUIRE(end == Approx(20).epsilon(1e-12));
}

TEST_CASE("a link that a route names twice carries twice the rate", "[network]") {
  // 10 B/s crossed twice: 5 B/s; 50 B take 10 s and put 100 B on the link.
  const auto network = sharing_network();
  const LinkId a = network->link("a", 10);
  double end = 0;
  network->start_flow(std::vector{a, a}, 50, [&] { end = network->now(); });
  network->run();
  REQUIRE(end == Approx(10).epsilon(1e-12));
  REQUIRE(network->bytes_carried(a) == Approx(100).epsilon(1e-12));
}

TEST_CASE("a cancelled flow leaves its share and never calls back", "[network]") {
  // Shared at 5 B/s until 4 s (20 B each), then 80 B at 10 B/s: 12 s. The link carried 20 + 100 B.
  const auto network = sharing_network();
  const std::vector<LinkId> route{network->link("a", 10)};
  bool called = false;
  double end = 0;
  const auto doomed = network->start_flow(route, 100, [&] { called = true; });
  network->start_flow(route, 100, [&] { end = network->now(); });
  network->after(4, [&] { network->cancel_flow(doomed); });
  network->run();
  REQUIRE_FALSE(called);
  REQUIRE(end == Approx(12).epsilon(1e-12));
  REQUIRE(network->bytes_carried(route[0]) == Approx(120).epsilon(1e-12));
}

TEST_CASE("a flow without links completes in the instant it starts", "[network]") {
  const auto network =
      make_network(GENERATE(EngineKind::native, EngineKind::simgrid, EngineKind::analytic));
  double end = -1;
  bool cancelled_ran = false;
  network->after(3, [&] {
    network->start_flow({}, 100, [&] { end = network->now(); });
    network->cancel_flow(network->start_flow({}, 100, [&] { cancelled_ran = true; }));
  });
  network->run();
  REQUIRE(end == Approx(3).epsilon(1e-12));
  REQUIRE_FALSE(cancelled_ran);
}

TEST_CASE("timers of one instant run in the order in which they were set", "[network]") {
  const auto network =
      make_network(GENERATE(EngineKind::native, EngineKind::simgrid, EngineKind::analytic));
  std::vector<int> order;
  network->after(2, [&] { order.push_back(1); });
  const auto cancelled = network->after(2, [&] { order.push_back(2); });
  network->after(1, [&] { network->after(1, [&] { order.push_back(4); }); });
  network->after(2, [&] { order.push_back(3); });
  network->cancel_timer(cancelled);
  network->run();
  REQUIRE(order == std::vector<int>{1, 3, 4});
}

TEST_CASE("a fraction of a byte takes its time", "[network]") {
  // 0.375 B at 0.5 B/s: 0.75 s.
  const auto network =
      make_network(GENERATE(EngineKind::native, EngineKind::simgrid, EngineKind::analytic));
  double end = 0;
  network->start_flow(std::vector{network->link("a", 0.5)}, 0.375, [&] { end = network->now(); });
  network->run();
  REQUIRE(end == Approx(0.75).epsilon(1e-12));
}

TEST_CASE("an exception of a callback comes out of run", "[network]") {
  const auto network =
      make_network(GENERATE(EngineKind::native, EngineKind::simgrid, EngineKind::analytic));
  network->after(1, [] { throw std::runtime_error("from a callback"); });
  REQUIRE_THROWS_WITH(network->run(), "from a callback");
}

TEST_CASE("the analytic network lets flows ignore each other", "[network]") {
  // 10 B/s then 4 B/s on the route: min 4 -> 100 B in 25 s, however many share. Raised to 8 at 5 s:
  // 20 B done, 80 / 8 = 10 s.
  const auto network = make_network(EngineKind::analytic);
  const LinkId a = network->link("a", 10), b = network->link("b", 4);
  std::vector<double> ends;
  for (int i = 0; i < 3; ++i)
    network->start_flow(std::vector{a, b}, 100, [&] { ends.push_back(network->now()); });
  network->after(5, [&] { network->set_capacity(b, 8); });
  network->run();
  REQUIRE(ends.size() == 3);
  for (const double end : ends) REQUIRE(end == Approx(15).epsilon(1e-12));
}
