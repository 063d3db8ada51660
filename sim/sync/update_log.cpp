#include <fmt/format.h>

#include "sim/sync/sync_job.hpp"

namespace stepcast {

std::string update_log_csv(const SyncOutcome& outcome) {
  std::string text = "order,time_s,worker,step,read_version,staleness,peer,dropped\n";
  for (const SyncUpdate& u : outcome.updates)
    text += fmt::format("{},{:.9g},{},{},{},{},{},{}\n", u.order, u.time_s, u.worker, u.step,
                        u.read_version, u.staleness, u.peer, u.is_dropped ? 1 : 0);
  return text;
}
}  // namespace stepcast
