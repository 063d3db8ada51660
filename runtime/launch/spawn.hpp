#pragma once
#include <string>
#include <vector>

namespace stepcast::runtime {
/// Runs `ranks` copies of this program with `arguments` (program name first) on this machine, with
/// RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT set, and waits for them. The first
/// that ends with an error decides: the others get the time to say so themselves (they learn it
/// from the store), then SIGTERM, then SIGKILL. Returns its exit code; 3 for a signal, which is
/// named. Ranks die with this process.
int run_local_ranks(int ranks, const std::vector<std::string>& arguments);
}  // namespace stepcast::runtime
