#pragma once
#include "sim/scenario/data_spec.hpp"

namespace stepcast {
/// What one loader process does for one batch, in amounts.
struct BatchAmounts {
  double samples = 0;
  double read_bytes = 0;    // from storage
  double requests = 0;      // to storage, opens included
  double cached_bytes = 0;  // from the cache
  double core_seconds = 0;  // unpacking and decoding
  double sent_bytes = 0;    // from a loader node to the training node; 0 without loader nodes
  double hit_share = 0;

  double bytes_per_request() const { return requests > 0 ? read_bytes / requests : 0; }
};
/// `nodes` read the data set together (training nodes, or the loader nodes).
/// Model : random order asks for every sample by itself, cut into requests of the storage's size;
///         sequential reading fills every request. A file costs its opening requests once. What
///         the cache holds costs no request.
BatchAmounts batch_amounts(const DataSpec& data, double samples, int nodes);

/// Seconds of one request when nobody else reads: latency and its bytes at the rate of one stream.
double request_seconds(const DataSpec& data, const BatchAmounts& batch);
/// Bytes per second of one worker when nobody else reads: its requests in flight over the time of
/// one (Little's law). Infinite where neither latency nor a rate is stated.
double worker_read_rate(const DataSpec& data, const BatchAmounts& batch);
/// Bytes per second that a node's (or the whole store's) limits allow together, infinite without
/// any: requests per second and requests in flight count in bytes of the batch's mean request.
double node_read_rate(const DataSpec& data, const BatchAmounts& batch);
double shared_read_rate(const DataSpec& data, const BatchAmounts& batch);
}  // namespace stepcast
