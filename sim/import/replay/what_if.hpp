#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/cluster/cluster_spec.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/collective/collective_model.hpp"
#include "sim/import/replay/replay.hpp"
#include "sim/profile/profile.hpp"

/// Changes of a workload: each takes one and gives the changed one, with a sentence saying what the
/// answer rests on.
namespace stepcast {

struct Change {
  Workload workload;
  std::string assumption;
  std::int64_t ops_changed = 0;
};

/// Durations of compute ops whose name contains `part` divided by `factor`.
Change with_faster(const Workload& workload, const std::string& part, double factor);
/// Host work divided by `factor` (a faster CPU, fused kernels, CUDA graphs).
Change with_faster_host(const Workload& workload, double factor);
/// Kernel launches captured into one CUDA graph a step; host pauses of 1 ms and more stay.
Change with_captured_launches(const Workload& workload);
/// Transfers split into start-up and bytes: the start-up part (the least transfer of the same group
/// and kind) times `latency_factor`, the rest divided by `bandwidth_factor`.
Change with_network_factors(const Workload& workload, double bandwidth_factor,
                            double latency_factor);
/// Gradient reductions (all_reduce and reduce_scatter of data-parallel groups) shrunk to `ratio` of
/// their bytes; each pays encode and decode of its full bytes at `codec_GBps` on the compute lane
/// of its rank.
Change with_compression(const Workload& workload, double ratio, double codec_GBps);
/// Gradient all-reduces of each rank and step packed anew into buckets of `bucket` bytes: a bucket
/// leaves when its last part is ready; its transfer follows start-up + bytes / bandwidth fitted
/// over the recorded ones.
Change with_bucket(const Workload& workload, std::int64_t bucket);
/// Data-parallel groups grown to `size` ranks: transfers scale by the ring's 2(n-1)/n (or (n-1)/n)
/// and its start-up by the steps.
Change with_data_parallel_size(const Workload& workload, int size);

/// What a compute op is by its name: products, attention, convolutions, or work bound by memory
/// bandwidth.
enum class KernelClass : std::uint8_t { gemm, attention, convolution, streaming };
KernelClass kernel_class_of(std::string_view name);
/// Compute on another GPU: each class of op by the ratio of the two profiles at a large shape of
/// that class; an op no longer than the shortest kernel of the recorded GPU stays as it is.
Change with_other_gpu(const Workload& workload, const Profile& from, const Profile& to);

/// Which ops keep their own durations when the others get those of their class.
using Keeps = std::function<bool(const WorkRank&, const WorkOp&)>;
/// The straggler counterfactual: compute ops get the mean of their class, transfers the median. A
/// class is an op name.
Change equalised(const Workload& workload, const Keeps& keeps = {});

struct Attribution {
  std::string what;
  double slowdown = 1;
};
/// Slowdown of the whole job against its equalised self, and of each rank, stage and op class
/// alone: everything equalised but that.
struct StragglerReport {
  double as_was_s = 0, ideal_s = 0;
  double slowdown = 1;
  std::vector<Attribution> ranks, stages, ops;
};
StragglerReport straggler_report(const Workload& workload);

/// Carries collectives and messages over a cluster's links, max-min shared: the network replaced.
/// Ranks fill its nodes in order. Throws InputError when the workload's groups need more GPUs than
/// the cluster has.
std::unique_ptr<Transport> cluster_transport(const Workload& workload, const ClusterSpec& cluster,
                                             const CollectiveProfile& profile);
}  // namespace stepcast
