#include "tests/runtime/step/small_plan.hpp"

namespace stepcast::runtime::test {
namespace {
std::vector<std::pair<std::int64_t, std::int64_t>> ranges(const std::vector<std::int64_t>& ready,
                                                          const BucketPolicy& policy,
                                                          std::int64_t granularity = 1) {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  for (const Bucket& bucket : bucket_ranges(ready, 100, 4, policy, granularity))
    out.emplace_back(bucket.begin, bucket.end);
  return out;
}
using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;
}  // namespace

TEST_CASE("a bucket closes at the first gradient that fills it", "[runtime][buckets]") {
  // 100 elements of 4 bytes become ready at 80, 70, 30, 0; limit 100 bytes = 25 elements: 20 are
  // too few, 30 are enough.
  REQUIRE(ranges({80, 70, 30, 0}, {.bucket = Bytes(100)}) == Ranges{{70, 100}, {30, 70}, {0, 30}});
  REQUIRE(ranges({80, 70, 30, 0}, {.bucket = Bytes(0)}) == Ranges{{0, 100}});
  REQUIRE(ranges({80, 70, 30, 0}, {.bucket = Bytes(1000)}) == Ranges{{0, 100}});
}
TEST_CASE("the first bucket may be smaller", "[runtime][buckets]") {
  REQUIRE(ranges({80, 70, 30, 0}, {.bucket = Bytes(1000), .first_bucket = Bytes(80)}) ==
          Ranges{{80, 100}, {0, 80}});
}
TEST_CASE("boundaries round up to what every rank can share evenly", "[runtime][buckets]") {
  // Ready at 70 with granularity 20: 80 is the lowest boundary whose gradients are all there.
  REQUIRE(ranges({80, 70, 30, 0}, {.bucket = Bytes(80)}, 20) ==
          Ranges{{80, 100}, {40, 80}, {0, 40}});
}
}  // namespace stepcast::runtime::test
