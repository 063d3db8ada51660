#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/profile/collective_profile.hpp"

/// One-node collective measurements of one accelerator, gathered from the public tables:
///   collectives/<gpu>/nccl_one_node.csv          kernels replayed from CUDA graphs: the time on
///   the stream collectives/<folder>/all_reduce_*_gpus.csv   nccl-tests style, launched one by one
///   measured/nccl_runs.csv + nccl_points.csv     logs of nccl-tests and rccl-tests
namespace stepcast {

struct CollectiveSample {
  Collective collective = Collective::all_reduce;
  int ranks = 2;
  double bytes = 0, seconds = 0;
  std::string source;
};
/// True for a sample that may be used; hold-out tests leave some aside.
using SampleFilter = std::function<bool(const CollectiveSample&)>;

/// Where the measurements of an accelerator stand, and whose stand in where it has none.
struct CollectiveSources {
  std::string gpu;                        // catalogue name
  std::vector<std::string> folders;       // under collectives/
  std::vector<std::string> accelerators;  // as nccl_runs.csv spells it
  std::string donor;  // same links: curves it has and this one lacks are taken over; "" = none
  double in_switch_min_ranks;  // smallest group that reduces in the NVSwitch; 0 = never
  double gpu_link_GBps;        // datasheet rate of one GPU's scale-up links, one direction
};
const std::vector<CollectiveSources>& collective_sources();
const CollectiveSources* sources_of(const std::string& gpu);

/// Samples of the accelerator itself (not of its donor). Launch cost is part of nccl-tests times,
/// which matters below 4 MiB; where the graph tables cover a (collective, ranks), other samples
/// join in from 4 MiB, and from the largest graph size on.
std::vector<CollectiveSample> collective_samples(const CollectiveSources& sources,
                                                 const std::string& data_root,
                                                 const SampleFilter& filter);
/// all_reduce, alltoall, sendrecv ... of the logs; nullopt for one that is not modelled.
std::optional<Collective> collective_of_log(const std::string& name);
}  // namespace stepcast
