#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/import/nccl_tests/findings.hpp"
#include "sim/profile/collective_profile.hpp"

/// Sweeps -> curves: what a cost profile keeps of collective measurements.
namespace stepcast::nccl_tests {

/// Median time against size over all good sweeps of one shape.
struct MeasuredCurve {
  Collective collective = Collective::all_reduce;
  int ranks = 2, nodes = 1, ranks_per_node = 2;
  std::vector<std::pair<Bytes, Seconds>> points;
  int sweeps = 0;
  bool is_suspect = false;             // every sweep of this shape has an error-severity finding
  std::string device, source, system;  // system: see system_of
};

struct Import {
  std::vector<Sweep> sweeps;
  std::vector<MeasuredCurve> curves;  // by system, collective, nodes, ranks
  std::vector<Finding> findings;
  Anomalies anomalies;
  std::int64_t rows_read = 0, rows_lost = 0;
};
struct ImportOptions {
  int ranks = 0, nodes = 0;
};  // for logs without rank lines; 0 = as the log says

/// Reads the logs, checks them and merges sweeps of equal shape. Throws InputError when no log
/// holds a readable row.
Import import_logs(std::span<const std::string> paths, const ImportOptions& options = {});
/// The merge alone: findings of severity error keep a sweep out of the curve unless nothing else
/// has its shape.
std::vector<MeasuredCurve> curves_of(std::span<const Sweep> sweeps,
                                     std::span<const Finding> findings, Anomalies& anomalies);
/// Single-node curves as the profile's own type.
CollectiveProfile profile_of(std::span<const MeasuredCurve> curves);

/// Time at a size and node count that were not measured, from curves of the same collective and
/// ranks per node.
/// Model : the nearest measured node count below and above, each scaled by StepModel's ratio of the
///         two node counts at this size, blended over log2(nodes); beyond the ends the nearest.
///         Without a multi-node curve of this collective another one lends the node's port rate.
/// Fails : returns nothing when no curve speaks of such a node.
std::optional<Seconds> predicted_time(std::span<const MeasuredCurve> curves, Collective collective,
                                      int nodes, int ranks_per_node, Bytes size);
/// Every (system, collective, ranks per node) at `nodes`, as a table: time and busbw at each size
/// that any of its curves measured. Throws InputError when no curve
/// spans two nodes.
std::string forecast_text(const Import& import, std::span<const int> nodes);
/// The report a person reads: shapes, bandwidths, findings, losses.
std::string report_text(const Import& import);
}  // namespace stepcast::nccl_tests
