#pragma once
#include <cstdint>
#include <vector>

#include "sim/data/batch_amounts.hpp"
#include "sim/data/supply.hpp"

namespace stepcast {
/// Who loads where: the training nodes of a job and the loader processes on them.
struct LoaderSite {
  struct Node {
    double multiplicity = 1;  // equal nodes that this one stands for
    double nic_rate = 0;      // bytes/s into it
  };
  std::vector<Node> nodes;
  std::vector<std::vector<std::uint32_t>> consumers;  // the node of each of its loader processes
  double batch_samples = 0;                           // of one loader process
  double round_samples = 0;  // of the job, when every consumer has taken one batch
  int batches_per_step = 1;
  std::uint64_t seed = 1;

  double node_count() const;
  /// Loader processes of the whole job.
  double process_count() const;
  /// By node of the site, each of the equal nodes that it stands for.
  std::vector<double> processes_by_node() const;
  /// Equal nodes as one: the same answers where all consumers take their batches together.
  LoaderSite merged() const;
};

/// Nodes that read the data set together: the loader nodes, or the site's where there are none.
int reader_count(const DataSpec& data, const LoaderSite& site);

/// The loaders of a site as a simulation takes them. Loader nodes are one pool that serves every
/// process: each process reads and decodes on whichever has room.
SupplySpec supply_spec(const DataSpec& data, const LoaderSite& site);
}  // namespace stepcast
