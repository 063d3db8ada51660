#include "sim/data/cache.hpp"

#include <algorithm>
#include <list>
#include <numeric>
#include <random>
#include <unordered_map>

#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
DataSpec data_set(double cached_share, int epoch, CachePolicy policy = CachePolicy::lru) {
  DataSpec d;
  d.sample_bytes = 10;
  d.dataset_samples = 1000;
  d.cache.bytes = cached_share * 10 * 1000;
  d.cache.policy = policy;
  d.epoch = epoch;
  return d;
}

/// A real LRU cache of node 0 under the random orders of a distributed sampler.
double simulated_lru_hit_share(int samples, int nodes, double cached_share, int epoch) {
  std::mt19937 generator(7);
  std::list<int> recent;  // newest first
  std::unordered_map<int, std::list<int>::iterator> where;
  const auto capacity = static_cast<std::size_t>(cached_share * samples);
  std::vector<int> order(static_cast<std::size_t>(samples));
  std::iota(order.begin(), order.end(), 0);
  int hits = 0, reads = 0;
  for (int e = 1; e <= epoch; ++e) {
    std::shuffle(order.begin(), order.end(), generator);
    for (std::size_t i = 0; i < order.size() / static_cast<std::size_t>(nodes); ++i) {
      const auto known = where.find(order[i]);
      if (e == epoch) ++reads, hits += known != where.end() ? 1 : 0;
      if (known != where.end()) recent.erase(known->second);
      recent.push_front(order[i]);
      where[order[i]] = recent.begin();
      if (recent.size() > capacity) {
        where.erase(recent.back());
        recent.pop_back();
      }
    }
  }
  return static_cast<double>(hits) / reads;
}
}  // namespace

TEST_CASE("the first epoch finds nothing in the cache and the second all that fits", "[data]") {
  CHECK(cache_hit_share(data_set(1, 1), 1) == 0);
  CHECK(cache_hit_share(data_set(1, 2), 1) == 1);
  CHECK(cache_hit_share(data_set(2, 2), 1) == 1);
  CHECK(cache_hit_share(data_set(0.25, 2, CachePolicy::pinned), 1) == Approx(0.25));
}

TEST_CASE("reshuffling makes a node meet other samples than those it read before", "[data]") {
  // 4 nodes, everything would fit: after one epoch a node has seen 1/4, after two 1 - (3/4)^2.
  CHECK(cache_hit_share(data_set(1, 2), 4) == Approx(0.25));
  CHECK(cache_hit_share(data_set(1, 3), 4) == Approx(0.4375));
  DataSpec fixed = data_set(0.25, 2);  // a quarter of the data set holds the node's own quarter
  fixed.sharding = EpochSharding::fixed;
  CHECK(cache_hit_share(fixed, 4) == Approx(1));
}

TEST_CASE("a page cache of half the data set keeps 15 per cent and a pinned one half", "[data]") {
  // k + (1 - k) ln(1 - k) with k = 0.5: 0.5 - 0.5 x 0.6931 = 0.1534
  CHECK(cache_hit_share(data_set(0.5, 2), 1) == Approx(0.1534).epsilon(1e-3));
  CHECK(cache_hit_share(data_set(0.5, 9), 1) == Approx(0.1534).epsilon(1e-3));
  CHECK(cache_hit_share(data_set(0.5, 2, CachePolicy::pinned), 1) == Approx(0.5));
}

TEST_CASE("the hit share is that of a simulated page cache", "[data]") {
  for (const auto& [nodes, share, epoch] : {std::tuple{1, 0.35, 3},
                                            {1, 0.8, 2},
                                            {4, 0.2, 8},
                                            {4, 0.6, 3},
                                            {16, 0.1, 12},
                                            {2, 0.5, 2}}) {
    INFO(nodes << " nodes, cache " << share << ", epoch " << epoch);
    CHECK(cache_hit_share(data_set(share, epoch), nodes) ==
          Approx(simulated_lru_hit_share(20000, nodes, share, epoch)).margin(0.02));
  }
}

TEST_CASE("a larger cache and a later epoch never find less", "[data]") {
  for (const int nodes : {1, 3, 8})
    for (const CachePolicy policy : {CachePolicy::lru, CachePolicy::pinned})
      for (int epoch = 2; epoch < 6; ++epoch)
        for (double share = 0.1; share < 1.2; share += 0.1) {
          const double hit = cache_hit_share(data_set(share, epoch, policy), nodes);
          CHECK(hit >= 0);
          CHECK(hit <= 1);
          CHECK(cache_hit_share(data_set(share + 0.1, epoch, policy), nodes) >= hit - 1e-12);
          CHECK(cache_hit_share(data_set(share, epoch + 1, policy), nodes) >= hit - 1e-12);
        }
}
