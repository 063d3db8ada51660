#include "sim/data/batch_amounts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/data/cache.hpp"

namespace stepcast {
namespace {
constexpr double kUnlimited = std::numeric_limits<double>::infinity();
double limit(double stated) { return stated > 0 ? stated : kUnlimited; }

/// Requests that reading one sample takes, opening its file included.
double requests_per_sample(const DataSpec& data) {
  const double bytes = data.sample_bytes * data.read_amplification,
               request = limit(data.storage.request_bytes);
  const double reads = data.shuffle == Shuffle::random || data.samples_per_file <= 1
                           ? std::max(1.0, std::ceil(bytes / request))
                           : std::max(bytes / request, 1 / data.samples_per_file);
  return reads + data.storage.requests_per_open / std::max(1.0, data.samples_per_file);
}
}  // namespace

BatchAmounts batch_amounts(const DataSpec& data, double samples, int nodes) {
  BatchAmounts a;
  a.samples = samples;
  a.hit_share = cache_hit_share(data, nodes);
  const double bytes = samples * data.sample_bytes * data.read_amplification;
  a.read_bytes = bytes * (1 - a.hit_share);
  a.requests = samples * requests_per_sample(data) * (1 - a.hit_share);
  a.cached_bytes = bytes * a.hit_share;
  a.core_seconds = samples * data.decode.s_per_sample + bytes * data.decode.s_per_byte;
  a.sent_bytes = data.loader_nodes.count > 0 ? samples * data.decoded_bytes : 0;
  return a;
}

double request_seconds(const DataSpec& data, const BatchAmounts& batch) {
  const StorageSpec& s = data.storage;
  const double rate = std::min({limit(s.stream_rate), limit(s.node_rate), limit(s.shared_rate)});
  return s.latency_s + batch.bytes_per_request() / rate;
}

double worker_read_rate(const DataSpec& data, const BatchAmounts& batch) {
  const double seconds = request_seconds(data, batch);
  const double in_flight = std::min<double>(data.in_flight, std::max(1.0, batch.requests));
  return seconds > 0 ? in_flight * batch.bytes_per_request() / seconds : kUnlimited;
}

double node_read_rate(const DataSpec& data, const BatchAmounts& batch) {
  const StorageSpec& s = data.storage;
  const double request = batch.bytes_per_request(), seconds = request_seconds(data, batch);
  return std::min({limit(s.node_rate), limit(s.node_requests_per_s * request),
                   seconds > 0 ? limit(s.node_in_flight * request / seconds) : kUnlimited});
}

double shared_read_rate(const DataSpec& data, const BatchAmounts& batch) {
  return std::min(limit(data.storage.shared_rate),
                  limit(data.storage.shared_requests_per_s * batch.bytes_per_request()));
}
}  // namespace stepcast
