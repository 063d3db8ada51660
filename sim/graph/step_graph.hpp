#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/timeline/category.hpp"
#include "sim/workload/model_work.hpp"

/// The step as amounts: one program per pipeline stage, the same for every replica of that stage.
/// Flops and bytes, no clock. `lower` (sim/engine) gives it seconds, links and ranks.
namespace stepcast {

/// In-order queues of one rank. Ops of a lane run one after another; different lanes run at the
/// same time.
/// data: copies between host and device memory; loader: batches taken from the rank's loader.
enum class Lane : std::uint8_t { compute, gradient, gather, send, recv, data, loader };
inline constexpr int kLanes = 7;
template <>
struct EnumText<Lane> {
  static constexpr std::array<std::pair<Lane, std::string_view>, kLanes> table{
      {{Lane::compute, "compute"},
       {Lane::gradient, "gradient"},
       {Lane::gather, "gather"},
       {Lane::send, "send"},
       {Lane::recv, "recv"},
       {Lane::data, "data"},
       {Lane::loader, "loader"}}};
};

/// A run of ops with no outside dependency in between: a forward of a chunk, a piece of a backward
/// up to where a gradient bucket is complete, the optimizer. Contains the tp/cp/ep collectives of
/// its layers. Shared by all ops that repeat it.
struct WorkList {
  std::string name;  // phase name: "forward", "backward" ...
  std::vector<Op> ops;
};

struct GraphOp {
  /// load: takes the next batch of the rank's loader (scenarios with `data` only).
  enum class Kind : std::uint8_t { work, collective, send, recv, load } kind = Kind::work;
  Lane lane = Lane::compute;
  Category category =
      Category::compute;  // owner of the time this op keeps the compute lane waiting
  std::string name;
  int work = -1;  // work: index into StageGraph::works
  Collective collective =
      Collective::all_reduce;  // collective: over group, buffer S per nccl-tests
  GroupKind group = GroupKind::dp;
  Bytes buffer;         // collective: S per rank's group; send/recv: message bytes per rank
  int peer_stage = -1;  // send: destination stage, recv: source stage (same dp/cp/tp coordinates)
  std::uint32_t tag =
      0;  // send and recv of one message carry the same tag (per ordered pair of stages)
  std::vector<int> after;  // ops of this stage that complete first, beside the order of the lane
  int micro_batch = -1, chunk = 0;
  double hold_s = 0;  // work without a list: the framework waits by its own clock (Horovod's cycle)
};

struct StageGraph {
  std::vector<WorkList> works;
  std::vector<GraphOp> ops;  // in issue order; each lane's order is the order here
};
struct StepGraph {
  std::vector<StageGraph> stages;
};

/// Buckets that a framework forms while the step runs (Horovod): how many tensors each takes, in
/// order of readiness, and how long after its last tensor is ready it is sent off.
struct BucketPlan {
  std::vector<int> tensors;
  std::vector<double> hold_s;
};

/// Builds every stage's program: schedule order, p2p on its own lanes, gradient buckets that leave
/// when their last layer's backward ends, ZeRO/FSDP gathers with prefetch, tied-embedding
/// all-reduce, encode/decode around compressed messages, optimizer with norm and clip, parameter
/// gather. `plan`: buckets to use in place of the strategy's sizes; one pipeline stage, one
/// backward.
StepGraph build_step_graph(const Scenario& scenario, const ModelWork& work,
                           const BucketPlan* plan = nullptr);

/// Every send is met by one receive, dependencies point backwards or across lanes without a cycle,
/// bytes agree. Empty when sound.
std::string graph_fault(const StepGraph& graph);
}  // namespace stepcast
