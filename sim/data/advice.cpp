// What bounds the loaders, and the smallest changes after which they keep up.
#include "sim/data/advice.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace stepcast {
namespace {
constexpr double kUnlimited = std::numeric_limits<double>::infinity();

/// A key of the scenario: the number or count that it sets, and its unit in what that holds.
struct Key {
  const char* pointer = "";
  double* (*number)(DataSpec&) = nullptr;  // one of the two is set
  int* (*count)(DataSpec&) = nullptr;
  double unit = 1;
  int most = 1 << 20;  // of a count
};
constexpr Key kNodeRate{"/data/storage/node_GBps", [](DataSpec& d) { return &d.storage.node_rate; },
                        nullptr, 1e9};
constexpr Key kNodeRequests{"/data/storage/node_requests_per_s",
                            [](DataSpec& d) { return &d.storage.node_requests_per_s; }};
constexpr Key kNodeInFlight{"/data/storage/node_in_flight", nullptr,
                            [](DataSpec& d) { return &d.storage.node_in_flight; }};
constexpr Key kSharedRate{"/data/storage/shared_GBps",
                          [](DataSpec& d) { return &d.storage.shared_rate; }, nullptr, 1e9};
constexpr Key kSharedRequests{"/data/storage/shared_requests_per_s",
                              [](DataSpec& d) { return &d.storage.shared_requests_per_s; }};
constexpr Key kCacheRate{"/data/cache/GBps", [](DataSpec& d) { return &d.cache.rate; }, nullptr,
                         1e9};
constexpr Key kCores{"/data/cores", nullptr, [](DataSpec& d) { return &d.cores; }};
constexpr Key kLoaderNodes{"/data/loader_nodes/count", nullptr,
                           [](DataSpec& d) { return &d.loader_nodes.count; }};
// As many as a scenario may say.
constexpr Key kWorkers{"/data/workers", nullptr, [](DataSpec& d) { return &d.workers; }, 1, 1024};
constexpr Key kPrefetch{"/data/prefetch", nullptr, [](DataSpec& d) { return &d.prefetch; }, 1,
                        4096};

/// A bound and the key that lifts it: the bound grows in proportion to the key.
struct Lever {
  DataBound bound;
  Key key;
};

double processes_on_fullest_node(const LoaderSite& site) {
  double most = 1;
  for (const double processes : site.processes_by_node()) most = std::max(most, processes);
  return most;
}

class Levers {
 public:
  Levers(const DataSpec& data, const LoaderSite& site)
      : data_(data),
        site_(site),
        is_pooled_(data.loader_nodes.count > 0),
        amounts_(batch_amounts(data, site.batch_samples, reader_count(data, site))),
        per_reader_(is_pooled_ ? site.process_count() / data.loader_nodes.count
                               : processes_on_fullest_node(site)) {}

  std::vector<Lever> all() {
    storage();
    if (amounts_.cached_bytes > 0 && data_.cache.rate > 0)
      add(per_reader(amounts_.cached_bytes, data_.cache.rate), "bandwidth of a node's cache",
          kCacheRate);
    const double cores = is_pooled_ ? data_.loader_nodes.cores : data_.cores;
    if (amounts_.core_seconds > 0)
      add(per_reader(amounts_.core_seconds, cores), "decoding on the cores of a node",
          is_pooled_ ? kLoaderNodes : kCores);
    if (is_pooled_)
      add(per_reader(amounts_.sent_bytes, data_.loader_nodes.nic_rate),
          "network of the loader nodes", kLoaderNodes);
    workers();
    std::stable_sort(levers_.begin(), levers_.end(), [](const Lever& a, const Lever& b) {
      return a.bound.samples_per_s < b.bound.samples_per_s;
    });
    return std::move(levers_);
  }

 private:
  /// Seconds of a round in which every process gets `amount` from its reader's `rate`.
  double per_reader(double amount, double rate) const { return per_reader_ * amount / rate; }
  double of_all(double amount, double rate) const { return site_.process_count() * amount / rate; }

  void add(double round_s, const char* what, const Key& key) {
    if (round_s > 0) levers_.push_back({{what, site_.round_samples / round_s}, key});
  }

  void storage() {
    const StorageSpec& s = data_.storage;
    if (amounts_.read_bytes <= 0) return;
    const double requests = amounts_.requests;
    if (s.node_rate > 0)
      add(per_reader(amounts_.read_bytes, s.node_rate), "storage bandwidth of a node", kNodeRate);
    if (s.node_requests_per_s > 0)
      add(per_reader(requests, s.node_requests_per_s), "storage requests per second of a node",
          kNodeRequests);
    if (s.node_in_flight > 0)
      add(per_reader(requests, s.node_in_flight) * request_seconds(data_, amounts_),
          "storage requests that a node has in flight", kNodeInFlight);
    if (s.shared_rate > 0)
      add(of_all(amounts_.read_bytes, s.shared_rate), "storage bandwidth of all nodes together",
          kSharedRate);
    if (s.shared_requests_per_s > 0)
      add(of_all(requests, s.shared_requests_per_s),
          "storage requests per second of all nodes together", kSharedRequests);
  }

  // A worker's time for a batch without contention, over the workers that have a batch to work on.
  void workers() {
    const SupplySpec spec = supply_spec(data_, site_);
    double reading = 0, all = 0;
    for (const BatchStage& stage : spec.batch) {
      const double seconds =
          stage.amount /
          std::min(stage.cap, spec.hosts.front().capacity[static_cast<std::size_t>(stage.station)]);
      all += seconds;
      if (stage.station == Station::storage) reading += seconds;
    }
    const int at_work = std::min(data_.workers, data_.prefetch);
    const char* what = 2 * reading < all            ? "workers decoding, one core each"
                       : 2 * spec.latency_share > 1 ? "workers waiting for the storage's latency"
                                                    : "workers reading, one stream each";
    const bool lacks_places = data_.prefetch < data_.workers;
    add(all / std::max(1, at_work), what, lacks_places ? kPrefetch : kWorkers);
  }

  const DataSpec& data_;
  const LoaderSite& site_;
  bool is_pooled_;
  BatchAmounts amounts_;
  double per_reader_;
  std::vector<Lever> levers_;
};

/// Multiplies what the key sets, counts rounded up.
DataRemedy pull(const Key& key, double factor, DataSpec& data) {
  DataRemedy remedy{.key = key.pointer};
  if (key.number != nullptr) {
    double& number = *key.number(data);
    remedy.from = number / key.unit;
    number *= factor;
    remedy.to = number / key.unit;
    return remedy;
  }
  int& count = *key.count(data);
  remedy.from = count;
  count =
      static_cast<int>(std::min<double>(key.most, std::ceil(std::max(1, count) * factor - 1e-9)));
  remedy.to = count;
  // More workers come with places for their batches, as PyTorch's prefetch_factor gives them.
  if (&count == &data.workers) data.prefetch = std::max(data.prefetch, 2 * data.workers);
  return remedy;
}

}  // namespace

std::vector<DataBound> data_bounds(const DataSpec& data, const LoaderSite& site) {
  std::vector<DataBound> bounds;
  for (const Lever& lever : Levers(data, site).all()) bounds.push_back(lever.bound);
  return bounds;
}

namespace {
/// Loaders that come within the blur of counting whole batches reach their tightest bound.
double sustained(const DataSpec& data, const LoaderSite& site) {
  constexpr double kBlur = 0.03;
  const std::vector<DataBound> bounds = data_bounds(data, site);
  const double tightest = bounds.empty() ? kUnlimited : bounds.front().samples_per_s;
  const double round = round_seconds(supply_spec(data, site));
  const double counted = round > 0 ? site.round_samples / round : kUnlimited;
  return counted >= (1 - kBlur) * tightest ? tightest : counted;
}

/// Every bound below what is needed has to be lifted, and lifting each to exactly that is least.
/// What phases of workers cost beyond the bounds is found by simulating again.
void find_remedies(const DataSpec& data, const LoaderSite& site, DataForecast& out) {
  constexpr double kEnough = 0.999;  // of the need: rounding of a simulated round
  DataSpec changed = data;
  std::vector<DataRemedy> made;
  if (data.workers == 0) {  // nothing is read while the training computes, however fast
    changed.workers = 1;
    changed.prefetch = 2;
    made.push_back({.key = "/data/workers", .from = 0, .to = 1});
  }
  constexpr int kMostRounds = 24;
  for (int round = 0; round < kMostRounds; ++round) {
    const std::vector<Lever> levers = Levers(changed, site).all();
    const bool is_bounded =
        !levers.empty() && levers.front().bound.samples_per_s < kEnough * out.needed_samples_per_s;
    if (!is_bounded && sustained(changed, site) >= kEnough * out.needed_samples_per_s) {
      out.remedies = std::move(made);
      out.is_cured = true;
      return;
    }
    if (levers.empty()) break;
    const Lever& tightest = levers.front();
    const double lacking = out.needed_samples_per_s / tightest.bound.samples_per_s;
    // Bounds are met and the round is still too long: the tightest gives a little more.
    const DataRemedy remedy = pull(tightest.key, lacking > 1 ? lacking : 1.1, changed);
    const auto known = std::find_if(made.begin(), made.end(),
                                    [&](const DataRemedy& r) { return r.key == remedy.key; });
    if (known == made.end())
      made.push_back(remedy);
    else
      known->to = remedy.to;
  }
  out.remedies = std::move(made);
  out.is_cured = false;
}

/// From a cold start: every worker begins a whole batch at the same moment.
double first_batch_seconds(const DataSpec& data, const LoaderSite& site, double sustained_rate) {
  const SupplySpec spec = supply_spec(data, site);
  double alone = 0;
  for (const BatchStage& stage : spec.batch) {
    const auto station = static_cast<std::size_t>(stage.station);
    const int at_work = std::max(1, std::min(spec.workers, spec.prefetch));
    double crowd = 0;
    for (const auto& consumer : spec.consumers)
      crowd += static_cast<double>(std::count(consumer.begin(), consumer.end(), 0U)) * at_work;
    double rate = std::min(stage.cap, spec.hosts.front().capacity[station] / std::max(1.0, crowd));
    if (stage.station == Station::storage)
      rate = std::min(rate, spec.shared_storage / (site.process_count() * at_work));
    alone += stage.amount / rate;
  }
  const double buffered =
      data.shuffle == Shuffle::buffer ? data.shuffle_buffer * site.process_count() : 0;
  return alone +
         (std::isfinite(sustained_rate) && sustained_rate > 0 ? buffered / sustained_rate : 0);
}
}  // namespace

DataForecast data_forecast(const DataSpec& data, const LoaderSite& site, double step_s) {
  const LoaderSite merged = data.loader_nodes.count > 0 ? site : site.merged();
  DataForecast out;
  out.step_without_stall_s = step_s;
  out.needed_samples_per_s =
      step_s > 0 ? merged.round_samples * merged.batches_per_step / step_s : 0;
  out.sustained_samples_per_s = sustained(data, merged);
  out.bounds = data_bounds(data, merged);
  find_remedies(data, merged, out);
  const BatchAmounts amounts =
      batch_amounts(data, merged.batch_samples, reader_count(data, merged));
  out.hit_share = amounts.hit_share;
  out.read_bytes_per_sample = amounts.read_bytes / amounts.samples;
  out.requests_per_sample = amounts.requests / amounts.samples;
  out.first_batch_s = first_batch_seconds(data, merged, out.sustained_samples_per_s);
  const double processes = merged.process_count() / std::max(1.0, merged.node_count());
  out.host_bytes_per_node =
      processes * (std::max(1, data.prefetch) * merged.batch_samples * data.decoded_bytes +
                   (data.shuffle == Shuffle::buffer ? data.shuffle_buffer * data.sample_bytes : 0));
  return out;
}
}  // namespace stepcast
