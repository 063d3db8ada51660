#pragma once
#include <functional>
#include <string>
#include <vector>

#include "sim/collective/collective_model.hpp"

/// What networks between nodes do to collectives, fitted to multi-node logs
/// (measured/nccl_runs.csv, nccl_points.csv).
namespace stepcast {

struct MultiNodeRun {
  std::string id, transport, gpu, source;  // transport: with its software, see fit_fabrics
  Collective collective = Collective::all_reduce;
  GroupShape shape;
  NodeSpec node;
  std::vector<std::pair<double, double>> points;  // bytes, seconds
};
/// Good runs over more than one node whose network is known by name and rate. The port comes from
/// the run's own description
/// ("2x200 Gb/s per node"); where it names InfiniBand HDR or NDR only, one NIC per GPU of 200 or
/// 400 Gb/s.
std::vector<MultiNodeRun> multi_node_runs(const std::string& data_root);

/// The fabric as one run's model needs it: a single switch of that transport.
FabricSpec fabric_of(const MultiNodeRun& run);

/// Transport without the software behind it: "slingshot" of "slingshot-nccl2.18".
std::string family_of(const std::string& transport);

/// Points that may enter a fit, for tests that leave some aside; null: all.
using RunFilter = std::function<bool(const MultiNodeRun&, double bytes)>;
/// One fit per transport over all its runs. Where runs of one transport differ in software (version
/// of NCCL, variables of the provider), one more for each such software, which starts from the
/// transport's and keeps what its runs say nothing of.
std::vector<FabricFit> fit_fabrics(const std::string& data_root, const RunFilter& filter = nullptr);
}  // namespace stepcast
