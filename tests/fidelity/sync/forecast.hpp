#pragma once
#include "runtime/sync/parameter_server.hpp"
#include "sim/sync/sync_job.hpp"
#include "tests/fidelity/sync/real_job.hpp"

namespace stepcast::real_sync {
/// The job simulated from its pieces.
SyncOutcome forecast(const RealJob& job, const Pieces& pieces);

struct Measured {
  double updates_per_s = 0;
  std::map<std::int64_t, std::int64_t> staleness;
};
/// As SyncOutcome counts: without the first tenth of the updates.
Measured measured(const std::vector<runtime::ServedUpdate>& updates, SyncMode mode);
}  // namespace stepcast::real_sync
