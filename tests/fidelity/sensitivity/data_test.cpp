// Every key of "data" that should move the loaders' pace moves it by as much as it should.
#include <string>
#include <vector>

#include "tests/fidelity/jobs/base_job.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;
namespace {
/// 16 processes on two nodes, a batch is one sample of 4 MB; eight workers unless a row says so.
Settings data(const std::string& storage, const std::string& more = "") {
  return {R"(/data={"storage": {"kind": "parallel-fs", )" + storage +
              R"(}, "content": "plain", "sample_B": 4000000, "workers": 8, "cores": 96)" +
              (more.empty() ? "" : ", " + more) + "}",
          "/run/steps=1"};
}
double pace(const Settings& settings) {
  const Forecast f = forecast(settings);
  REQUIRE(f.data);
  return f.data->sustained_samples_per_s;
}

struct Row {
  std::string what;
  Settings before, change;
  double ratio;  // of what the loaders sustain; the reason stands above each row
};
void require_ratios(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    INFO(row.what);
    CHECK(pace(row.before + row.change) / pace(row.before) == Approx(row.ratio).epsilon(0.03));
  }
}

const Settings kBandwidth = data(R"("node_GBps": 1)");
/// One worker, 4 requests of 1 MB one after the other, 10 ms each.
const Settings kLatency =
    data(R"("latency_us": 10000, "request_KiB": 976.5625)", R"("workers": 1, "prefetch": 2)");
}  // namespace

TEST_CASE("bandwidths and sizes set the loaders' pace where bytes bind", "[sensitivity][data]") {
  require_ratios({
      {"a node's bandwidth", kBandwidth, {"/data/storage/node_GBps=2"}, 2},
      // 2 nodes x 1 GB/s before, 0.5 GB/s together after.
      {"common bandwidth", kBandwidth, {"/data/storage/shared_GBps=0.5"}, 0.25},
      {"sample size", kBandwidth, {"/data/sample_B=8000000"}, 0.5},
      {"read amplification", kBandwidth, {"/data/read_amplification=4"}, 0.25},
      {"one stream's rate",
       data(R"("stream_GBps": 0.1)", R"("workers": 1, "prefetch": 2)"),
       {"/data/storage/stream_GBps=0.3"},
       3},
  });
}

TEST_CASE("requests set the loaders' pace where latency or their number binds",
          "[sensitivity][data]") {
  const Settings in_requests = {"/data/storage/node_requests_per_s=100"};
  require_ratios({
      {"latency", kLatency, {"/data/storage/latency_us=20000"}, 0.5},
      {"requests in flight", kLatency, {"/data/in_flight=2"}, 2},
      {"workers", kLatency, {"/data/workers=4", "/data/prefetch=8"}, 4},
      {"prefetch below the workers",
       kLatency + Settings{"/data/workers=4", "/data/prefetch=4"},
       {"/data/prefetch=2"},
       0.5},
      // 4 requests of 1 MB become 2 of 2 MB.
      {"request size", kLatency, {"/data/storage/request_KiB=1953.125"}, 2},
      // 4 reads of a file of its own, and 4 requests that open it.
      {"opening",
       kLatency + Settings{"/data/samples_per_file=1"},
       {"/data/storage/requests_per_open=4"},
       0.5},
      // The same opening over 4 samples: 5 requests each instead of 8.
      {"samples per file",
       kLatency + Settings{"/data/samples_per_file=1", "/data/storage/requests_per_open=4"},
       {"/data/samples_per_file=4"},
       1.6},
      {"requests per second of a node",
       kLatency + in_requests,
       {"/data/storage/node_requests_per_s=50"},
       0.5},
      {"requests per second of all",
       kLatency + Settings{"/data/storage/shared_requests_per_s=100"},
       {"/data/storage/shared_requests_per_s=50"},
       0.5},
      {"requests in flight of a node",
       kLatency + Settings{"/data/storage/node_in_flight=4"},
       {"/data/storage/node_in_flight=2"},
       0.5},
      // Samples of 0.1 MB: a request each in random order, ten to a request front to back.
      {"order", kLatency + Settings{"/data/sample_B=100000"}, {"/data/shuffle=none"}, 10},
  });
}

TEST_CASE("core time sets the loaders' pace where decoding binds", "[sensitivity][data]") {
  const Settings decoding =
      data(R"("node_GBps": 1000)", R"("decode": {"ms_per_sample": 10}, "cores": 2)");
  require_ratios({
      {"time per sample", decoding, {"/data/decode/ms_per_sample=20"}, 0.5},
      {"cores", decoding, {"/data/cores=6"}, 3},
      // 4 MB at 2.5 ns a byte: 10 ms more.
      {"time per byte", decoding, {"/data/decode/ns_per_byte=2.5"}, 0.5},
      // Of one core: 4 MB x 2 ns / byte = 8 ms against 4 MB x 0.5 ns = 2 ms.
      {"format",
       data(R"("node_GBps": 1000)", R"("format": "parquet", "cores": 2)"),
       {"/data/format=tfrecord"},
       4},
      // 1 / 577 s a JPEG on 2 cores against 2 ms of TFRecord beside it.
      {"content",
       data(R"("node_GBps": 1000)", R"("format": "tfrecord", "cores": 2)"),
       {"/data/content=jpeg"},
       2 / (2 + 1000.0 / 577)},
  });
}

TEST_CASE("epochs and caches take bytes off the storage", "[sensitivity][data]") {
  // 1000 samples of 4 MB: 2 GB for each of two nodes.
  const auto cached = [](const std::string& cache, const std::string& more) {
    return data(R"("node_GBps": 1)", R"("dataset_samples": 1000, "cache": {)" + cache + "}" + more);
  };
  const Settings half = cached(R"("GiB": 0.9313225746)", R"(, "epoch": 2, "sharding": "fixed")");
  require_ratios({
      // All of the second epoch from a cache of 10 GB/s instead of 1.
      {"second epoch",
       cached(R"("GiB": 4, "GBps": 10)", R"(, "sharding": "fixed")"),
       {"/data/epoch=2"},
       10},
      {"cache bandwidth",
       cached(R"("GiB": 4, "GBps": 10)", R"(, "epoch": 2, "sharding": "fixed")"),
       {"/data/cache/GBps=5"},
       0.5},
      // Half of a node's 2 GB fits: LRU keeps 0.1534, pinned 0.5.
      {"policy", half, {"/data/cache/policy=pinned"}, (1 - 0.1534) / 0.5},
      {"size", half, {"/data/cache/GiB=4", "/data/cache/GBps=4"}, (1 - 0.1534) * 4},
      // Everything fits, but a reshuffled sampler has shown a node only half of it.
      {"sharding", cached(R"("GiB": 8)", R"(, "epoch": 2)"), {"/data/epoch=3"}, 0.5 / 0.25},
      {"data set",
       half + Settings{"/data/cache/policy=pinned"},
       {"/data/dataset_samples=2000"},
       0.5 / 0.75},
  });
}

TEST_CASE("loader nodes work in proportion to their number cores and ports",
          "[sensitivity][data]") {
  const auto pool = [](const std::string& nodes) {
    Settings s = data(R"("node_GBps": 1000)",
                      R"("decode": {"ms_per_sample": 10}, "loader_nodes": {)" + nodes + "}");
    s[0].erase(s[0].find(R"(, "cores": 96)"), std::string(R"(, "cores": 96)").size());
    return s;
  };
  const Settings cores = pool(R"("count": 1, "cores": 4, "nic_Gbps": 1000)"),
                 ports = pool(R"("count": 1, "cores": 4000, "nic_Gbps": 8)");
  require_ratios({
      {"number", cores, {"/data/loader_nodes/count=2"}, 2},
      {"cores", cores, {"/data/loader_nodes/cores=8"}, 2},
      {"ports", ports, {"/data/loader_nodes/nic_Gbps=16"}, 2},
      {"decoded size", ports, {"/data/decoded_B=8000000"}, 0.5},
  });
}

TEST_CASE("a shuffle buffer delays the first batch and fills memory", "[sensitivity][data]") {
  const Settings buffered =
      kBandwidth + Settings{"/data/shuffle=buffer", "/data/shuffle_buffer=100"};
  const DataForecast before = *forecast(kBandwidth).data, after = *forecast(buffered).data;
  // 16 x 100 samples at 500 a second.
  CHECK(after.first_batch_s - before.first_batch_s == Approx(3.2).epsilon(0.05));
  CHECK(after.host_bytes_per_node - before.host_bytes_per_node == Approx(8 * 100 * 4e6));
}
