#include "sim/data/batch_amounts.hpp"

#include <cmath>

#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
/// 100 kB images of one file each behind requests of at most 1 MB that take 100 ms.
DataSpec images() {
  DataSpec d;
  d.sample_bytes = 100'000;
  d.storage.request_bytes = 1'000'000;
  d.storage.latency_s = 0.1;
  return d;
}
}  // namespace

TEST_CASE("random order asks for every sample and sequential order fills its requests", "[data]") {
  DataSpec d = images();
  CHECK(batch_amounts(d, 50, 1).requests == Approx(50));
  d.samples_per_file = 10'000;
  d.shuffle = Shuffle::buffer;
  CHECK(batch_amounts(d, 50, 1).requests == Approx(5));  // 5 MB in requests of 1 MB
  d.shuffle = Shuffle::random;
  CHECK(batch_amounts(d, 50, 1).requests == Approx(50));
  d.sample_bytes = 2'500'000;  // does not fit one request: three
  CHECK(batch_amounts(d, 50, 1).requests == Approx(150));
}

TEST_CASE("opening costs every file its requests once", "[data]") {
  DataSpec d = images();
  d.storage.requests_per_open = 2;
  CHECK(batch_amounts(d, 10, 1).requests == Approx(30));
  d.samples_per_file = 5;
  CHECK(batch_amounts(d, 10, 1).requests == Approx(10 * (1 + 0.4)));
}

TEST_CASE("a worker behind latency reads its requests in flight over the latency", "[data]") {
  // Little: 1 in flight / 0.1 s = 10 requests/s x 100 kB = 1 MB/s; 8 in flight: 8 MB/s.
  DataSpec d = images();
  CHECK(worker_read_rate(d, batch_amounts(d, 64, 1)) == Approx(1e6));
  d.in_flight = 8;
  CHECK(worker_read_rate(d, batch_amounts(d, 64, 1)) == Approx(8e6));
  // No more than the batch has requests: 4 samples, 4 MB/s.
  CHECK(worker_read_rate(d, batch_amounts(d, 4, 1)) == Approx(4e6));
  // A stream of 1 MB/s adds 0.1 s to each request: 8 / 0.2 s x 100 kB.
  d.storage.stream_rate = 1e6;
  CHECK(worker_read_rate(d, batch_amounts(d, 64, 1)) == Approx(4e6));
}

TEST_CASE("limits in requests count in bytes of the batch's requests", "[data]") {
  DataSpec d = images();
  CHECK(std::isinf(node_read_rate(d, batch_amounts(d, 10, 1))));
  d.storage.node_requests_per_s = 500;
  CHECK(node_read_rate(d, batch_amounts(d, 10, 1)) == Approx(500 * 1e5));
  d.storage.node_in_flight = 20;  // 20 / 0.1 s = 200 requests/s
  CHECK(node_read_rate(d, batch_amounts(d, 10, 1)) == Approx(200 * 1e5));
  d.storage.node_rate = 1e6;  // and the node's rate makes a request 0.2 s long
  CHECK(node_read_rate(d, batch_amounts(d, 10, 1)) == Approx(1e6));
  d.storage.shared_requests_per_s = 5500;
  CHECK(shared_read_rate(d, batch_amounts(d, 10, 1)) == Approx(5.5e8));
}

TEST_CASE("what the cache holds is neither read nor asked for but still decoded", "[data]") {
  DataSpec d = images();
  d.decode.s_per_sample = 0.01;
  d.dataset_samples = 1000;
  d.cache.bytes = 25 * 1e6;  // a quarter
  d.cache.policy = CachePolicy::pinned;
  d.epoch = 2;
  const BatchAmounts a = batch_amounts(d, 40, 1);
  CHECK(a.read_bytes == Approx(3e6));
  CHECK(a.cached_bytes == Approx(1e6));
  CHECK(a.requests == Approx(30));
  CHECK(a.core_seconds == Approx(0.4));
  CHECK(a.bytes_per_request() == Approx(1e5));
}
