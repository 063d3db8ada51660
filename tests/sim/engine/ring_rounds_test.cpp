// A ring all-reduce message by message against one persistent flow per ring edge: what the executor
// simplifies.
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "sim/core/random.hpp"
#include "sim/engine/network.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
/// Rings of n ranks; rank i of a ring sends to rank i + 1 over the route of its edge.
struct Ring {
  std::vector<std::vector<LinkId>> routes;
  std::vector<double> ready;  // when each rank has its data
};
constexpr double kAlpha = 2e-6;  // seconds per message

/// 2 (n-1) rounds of chunks S / n; a rank sends round r when it has received round r - 1 and sent
/// it itself.
class RoundsOfRing {
 public:
  RoundsOfRing(Network& network, const Ring& ring, double buffer)
      : network_(network),
        ring_(ring),
        ranks_(ring.ready.size()),
        chunk_(buffer / static_cast<double>(ranks_)),
        sent_(ranks_, 0),
        received_(ranks_, 0),
        is_sending_(ranks_, false),
        is_ready_(ranks_, false) {
    for (std::size_t rank = 0; rank < ranks_; ++rank)
      network_.after(ring.ready[rank], [this, rank] {
        is_ready_[rank] = true;
        advance(rank);
      });
  }
  double end() const { return end_; }

 private:
  void advance(std::size_t rank) {
    if (!is_ready_[rank] || is_sending_[rank] || sent_[rank] == 2 * (ranks_ - 1) ||
        sent_[rank] > received_[rank])
      return;
    is_sending_[rank] = true;
    network_.after(kAlpha, [this, rank] {
      network_.start_flow(ring_.routes[rank], chunk_, [this, rank] {
        is_sending_[rank] = false;
        ++sent_[rank];
        const std::size_t next = (rank + 1) % ranks_;
        ++received_[next];
        end_ = std::max(end_, network_.now());
        advance(rank);
        advance(next);
      });
    });
  }
  Network& network_;
  const Ring& ring_;
  std::size_t ranks_;
  double chunk_, end_ = 0;
  std::vector<std::size_t> sent_, received_;
  std::vector<bool> is_sending_, is_ready_;
};

double by_rounds(const std::vector<double>& capacities, const Ring& ring, double buffer) {
  const auto network = make_network(EngineKind::native);
  for (const double capacity : capacities) network->link("l", capacity);
  RoundsOfRing rounds(*network, ring, buffer);
  network->run();
  return rounds.end();
}
double by_persistent_flows(const std::vector<double>& capacities, const Ring& ring, double buffer) {
  const auto network = make_network(EngineKind::native);
  for (const double capacity : capacities) network->link("l", capacity);
  const double n = static_cast<double>(ring.ready.size());
  double end = 0;
  network->after(*std::max_element(ring.ready.begin(), ring.ready.end()) + 2 * (n - 1) * kAlpha,
                 [&] {
                   for (const auto& route : ring.routes)
                     network->start_flow(route, 2 * (n - 1) / n * buffer,
                                         [&] { end = std::max(end, network->now()); });
                 });
  network->run();
  return end;
}
}  // namespace

TEST_CASE("persistent flows time a ring all-reduce like its messages", "[network]") {
  // Both are 2 (n-1) (S / n / B + alpha) after the last rank is ready: one slower link without
  // skew, any skew with equal links. (Together they part by up to one chunk: the slow link may send
  // its first chunk before the last rank is ready.)
  const std::size_t ranks = GENERATE(2u, 4u, 16u, 64u);
  const double buffer = GENERATE(1e6, 1e9);
  const bool is_skewed = GENERATE(false, true);
  CAPTURE(ranks, buffer, is_skewed);
  std::vector<double> capacities;
  Ring ring;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    capacities.push_back(rank == 1 && !is_skewed ? 40e9 : 50e9);
    ring.routes.push_back({static_cast<LinkId>(rank)});
    ring.ready.push_back(is_skewed ? uniform_from_bits(mixed_bits(7, rank)) * buffer / 50e9 : 0);
  }
  const double rounds = by_rounds(capacities, ring, buffer),
               flows = by_persistent_flows(capacities, ring, buffer);
  const double n = static_cast<double>(ranks);
  const double closed = *std::max_element(ring.ready.begin(), ring.ready.end()) +
                        2 * (n - 1) * (buffer / n / (is_skewed ? 50e9 : 40e9) + kAlpha);
  REQUIRE(flows == Approx(closed).epsilon(1e-9));
  REQUIRE(rounds == Approx(flows).epsilon(0.01));
}

TEST_CASE("persistent flows time a ring over shared uplinks like its messages", "[network]") {
  // Ranks dealt over two leaves in turn: every edge crosses, n / 2 of them share each direction's
  // uplink of 4 x 50 GB/s.
  const std::size_t ranks = GENERATE(8u, 16u, 64u);
  CAPTURE(ranks);
  std::vector<double> capacities(ranks, 50e9);
  capacities.insert(capacities.end(), {200e9, 200e9});
  Ring ring;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    ring.routes.push_back({static_cast<LinkId>(rank), static_cast<LinkId>(ranks + rank % 2)});
    ring.ready.push_back(0);
  }
  REQUIRE(by_rounds(capacities, ring, 1e9) ==
          Approx(by_persistent_flows(capacities, ring, 1e9)).epsilon(0.01));
}
