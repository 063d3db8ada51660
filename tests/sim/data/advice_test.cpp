#include "sim/data/advice.hpp"

#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
/// Two equal nodes of four processes each; batches of 10 samples of 1 MB.
LoaderSite two_nodes() {
  LoaderSite site;
  site.nodes = {{.multiplicity = 1, .nic_rate = 1e10}, {.multiplicity = 1, .nic_rate = 1e10}};
  for (std::uint32_t node = 0; node < 2; ++node)
    for (int process = 0; process < 4; ++process) site.consumers.push_back({node});
  site.batch_samples = 10;
  site.round_samples = 80;
  return site;
}
DataSpec megabytes() {
  DataSpec d;
  d.sample_bytes = 1e6;
  d.decoded_bytes = 2e6;
  d.storage.request_bytes = 1e6;
  d.storage.latency_s = 0.01;
  d.decode.s_per_sample = 0.02;
  d.workers = 2;
  d.prefetch = 4;
  d.cores = 4;
  return d;
}
double bound(const std::vector<DataBound>& bounds, const std::string& what) {
  for (const DataBound& b : bounds)
    if (b.what == what) return b.samples_per_s;
  return -1;
}
}  // namespace

TEST_CASE("every resource has its own bound in samples per second", "[data]") {
  DataSpec d = megabytes();
  d.storage.node_rate = 5e8;    // 500 samples/s on each of two nodes
  d.storage.shared_rate = 8e8;  // 800 in all
  d.storage.shared_requests_per_s = 900;
  const std::vector<DataBound> bounds = data_bounds(d, two_nodes());
  CHECK(bound(bounds, "storage bandwidth of a node") == Approx(1000));
  CHECK(bound(bounds, "storage bandwidth of all nodes together") == Approx(800));
  CHECK(bound(bounds, "storage requests per second of all nodes together") == Approx(900));
  // 4 cores / 20 ms = 200 on each node
  CHECK(bound(bounds, "decoding on the cores of a node") == Approx(400));
  // A worker: 10 x (10 ms + 1 MB at 500 MB/s = 2 ms) + 10 x 20 ms = 0.32 s for 10 samples; 16 of
  // them: 500 samples/s.
  CHECK(bound(bounds, "workers decoding, one core each") == Approx(500));
  for (std::size_t i = 1; i < bounds.size(); ++i)
    CHECK(bounds[i - 1].samples_per_s <= bounds[i].samples_per_s);
}

TEST_CASE("what the loaders sustain in the simulation is their tightest bound", "[data]") {
  DataSpec d = megabytes();
  const auto sustained = [&] { return data_forecast(d, two_nodes(), 1).sustained_samples_per_s; };
  CHECK(sustained() == Approx(data_bounds(d, two_nodes()).front().samples_per_s).epsilon(0.01));
  d.cores = 64;
  d.decode.s_per_sample = 0.001;
  // Latency: 10 x 10 ms + 10 ms decoding = 0.11 s a batch and worker, 16 workers.
  CHECK(sustained() == Approx(16 * 10 / 0.11).epsilon(0.01));
  d.storage.shared_requests_per_s = 300;
  CHECK(sustained() == Approx(300).epsilon(0.01));
}

TEST_CASE("remedies lift exactly the bounds below the need and then the loaders keep up",
          "[data]") {
  DataSpec d = megabytes();
  d.storage.shared_rate = 3e8;
  // A step of 0.16 s takes 80 samples: 500 samples/s. The store allows 300, the cores 400, the
  // workers (10 x (10 + 3.33) + 200 ms a batch) 480.
  const DataForecast f = data_forecast(d, two_nodes(), 0.16);
  CHECK(f.needed_samples_per_s == Approx(500));
  CHECK(f.is_cured);
  REQUIRE(f.remedies.size() >= 2);
  CHECK(f.remedies[0].key == "/data/storage/shared_GBps");
  CHECK(f.remedies[0].from == Approx(0.3));
  CHECK(f.remedies[0].to == Approx(0.5).epsilon(0.12));
  CHECK(f.remedies[1].key == "/data/cores");
  CHECK(f.remedies[1].from == 4);
  CHECK(f.remedies[1].to == Approx(5).margin(1));
  DataSpec mended = d;
  mended.storage.shared_rate = f.remedies[0].to * 1e9;
  mended.cores = static_cast<int>(f.remedies[1].to);
  for (const DataRemedy& r : f.remedies)
    if (r.key == "/data/workers")
      mended.workers = static_cast<int>(r.to), mended.prefetch = 2 * mended.workers;
  CHECK(data_forecast(mended, two_nodes(), 0.16).remedies.empty());
}

TEST_CASE("loaders that keep up need no remedy", "[data]") {
  const DataForecast f = data_forecast(megabytes(), two_nodes(), 1);
  CHECK(f.remedies.empty());
  CHECK(f.is_cured);
}

TEST_CASE("equal nodes merge into one that counts as all", "[data]") {
  const LoaderSite merged = two_nodes().merged();
  CHECK(merged.nodes.size() == 1);
  CHECK(merged.node_count() == 2);
  CHECK(merged.process_count() == 8);
  DataSpec d = megabytes();
  d.storage.shared_rate = 3e8;
  CHECK(round_seconds(supply_spec(d, merged)) ==
        Approx(round_seconds(supply_spec(d, two_nodes()))).epsilon(1e-9));
}

TEST_CASE("loader nodes bring their own cores and send finished batches", "[data]") {
  DataSpec d = megabytes();
  d.workers = 16;
  d.prefetch = 32;
  d.loader_nodes = {.count = 3, .cores = 10, .nic_rate = 4e9};
  const std::vector<DataBound> bounds = data_bounds(d, two_nodes());
  // 3 x 10 cores / 20 ms = 1500 samples/s; 12 GB/s / 2 MB = 6000
  CHECK(bound(bounds, "decoding on the cores of a node") == Approx(1500));
  CHECK(bound(bounds, "network of the loader nodes") == Approx(6000));
  CHECK(data_forecast(d, two_nodes(), 1).sustained_samples_per_s == Approx(1500).epsilon(0.02));
  d.loader_nodes.nic_rate = 1e8;
  CHECK(data_forecast(d, two_nodes(), 1).sustained_samples_per_s == Approx(150).epsilon(0.02));
}

TEST_CASE("a deep queue and a shuffle buffer take host memory and time before the first batch",
          "[data]") {
  DataSpec d = megabytes();
  const DataForecast plain = data_forecast(d, two_nodes(), 1);
  CHECK(plain.host_bytes_per_node == Approx(4.0 * 4 * 10 * 2e6));
  d.shuffle = Shuffle::buffer;
  d.samples_per_file = 1000;
  d.shuffle_buffer = 500;
  const DataForecast buffered = data_forecast(d, two_nodes(), 1);
  CHECK(buffered.host_bytes_per_node == Approx(4.0 * (4 * 10 * 2e6 + 500 * 1e6)));
  CHECK(buffered.first_batch_s > plain.first_batch_s + 5);  // 4000 samples at 400 a second
}

TEST_CASE("a need that no number of workers meets is said not to be met", "[data]") {
  DataSpec d = megabytes();
  d.storage.latency_s = 600;  // 1024 workers x 8 processes x 10 samples in 6000 s: 13.6 a second
  const DataForecast f = data_forecast(d, two_nodes(), 0.16);
  CHECK_FALSE(f.is_cured);
  REQUIRE_FALSE(f.remedies.empty());
  CHECK(f.remedies[0].key == "/data/workers");
  CHECK(f.remedies[0].to == 1024);
}
