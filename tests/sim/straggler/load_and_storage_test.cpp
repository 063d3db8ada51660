#include <numeric>

#include "sim/straggler/load_shares.hpp"
#include "sim/straggler/storage_queue.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

TEST_CASE("samples go to replicas in proportion to their speed", "[straggler]") {
  // Speeds 1, 1, 1/2 of 10 samples: 4, 4, 2; over the even share of 10 / 3.
  const std::vector<double> shares = load_shares({1, 1, 2}, 10);
  CHECK(shares[0] == Approx(1.2));
  CHECK(shares[2] == Approx(0.6));
  CHECK(std::accumulate(shares.begin(), shares.end(), 0.0) == Approx(3));
}

TEST_CASE("every replica keeps a sample however slow it is", "[straggler]") {
  const std::vector<double> shares = load_shares({1, 1000}, 2);
  CHECK(shares == std::vector<double>{1, 1});
}

TEST_CASE("rounding never makes the latest replica later than the even share", "[straggler]") {
  for (const std::int64_t total : {5, 7, 23, 64}) {
    const std::vector<double> slow{1, 1.3, 1, 1.1, 2};
    const std::vector<double> shares = load_shares(slow, total);
    double latest = 0;
    for (std::size_t i = 0; i < slow.size(); ++i) latest = std::max(latest, shares[i] * slow[i]);
    CHECK(latest <= 2 + 1e-12);
  }
}

TEST_CASE("a loader slower than the step sets its pace and a faster one is never waited for",
          "[straggler]") {
  // read 3 s, step 2 s, 1 ahead: batch 0 is there; batch 1 is read from 0 (when batch 0 was taken)
  // to 3, the step that starts at 2 waits 1 s; batch 2 is read from 3 to 6, the step at 5 waits 1
  // s.
  StorageQueue slow({.read_s = 3, .prefetch = 1}, 1);
  CHECK(slow.wait_s(0) == 0);
  CHECK(slow.wait_s(2) == Approx(1));
  CHECK(slow.wait_s(5) == Approx(1));
  StorageQueue fast({.read_s = 1, .prefetch = 1}, 1);
  for (const double start : {0.0, 2.0, 4.0, 6.0}) CHECK(fast.wait_s(start) == 0);
}
