#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sim/import/command/input_files.hpp"
#include "sim/import/common/rank_trace.hpp"
#include "sim/import/nccl_tests/curves.hpp"
#include "sim/import/replay/workload_file.hpp"

namespace stepcast {
struct LoadOptions {
  ImportKind kind = ImportKind::unknown;
  bool allow_partial = false;
  int ranks = 0, nodes = 0;
};
/// Everything that the named files hold, by kind.
struct Loaded {
  std::vector<RankTrace> traces;    // on one clock
  std::vector<Workload> workloads;  // chakra, goal, tables, workload files
  std::optional<nccl_tests::Import> collectives;
  Anomalies anomalies;  // of the import as a whole
};
/// Throws InputError: a file of no known kind (when named itself; inside a folder it is counted),
/// or nothing to import.
Loaded load(const InputFiles& files, const LoadOptions& options, bool is_single);
/// The one workload of what was loaded: read, or built from the traces. Throws InputError when
/// there is none or several.
Workload workload_from(const Loaded& loaded, Anomalies& anomalies);
}  // namespace stepcast
