#pragma once
#include <string>
#include <vector>

/// What a forecast says about data loading: plain values for the report.
namespace stepcast {

/// A resource of the loading path and the samples per second that it allows when nothing else
/// limits.
struct DataBound {
  std::string what;
  double samples_per_s = 0;
};
/// A change of one key that lifts a bound to what the training step takes.
struct DataRemedy {
  std::string key;  // JSON pointer of the scenario
  double from = 0, to = 0;
};
struct DataForecast {
  double sustained_samples_per_s = 0;  // what the loaders deliver to a training that never computes
  double needed_samples_per_s = 0;     // what the training takes when it never waits for data
  double step_without_stall_s = 0;
  double stall_s = 0;                // of the critical rank, mean over the simulated steps
  double stall_share = 0;            // of the mean step
  std::vector<DataBound> bounds;     // smallest first
  std::vector<DataRemedy> remedies;  // all of them together remove the stall; empty without one
  bool is_cured = true;              // the simulated loaders keep up once the remedies are made
  double hit_share = 0;              // of the bytes, from the cache
  double read_bytes_per_sample = 0;  // from storage
  double requests_per_sample = 0;    // to storage
  double first_batch_s = 0;          // from a cold start, shuffle buffer filled
  double host_bytes_per_node = 0;    // finished batches and shuffle buffers in memory
};
}  // namespace stepcast
