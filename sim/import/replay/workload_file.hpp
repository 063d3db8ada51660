#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/enum_text.hpp"
#include "sim/core/result.hpp"
#include "sim/timeline/timeline.hpp"
#include "sim/workload/op.hpp"

/// A recorded or generated job that can be run again: ranks, their in-order lanes, ops with
/// durations, dependencies, messages and collectives. Stored as `*.workload.json.zst`; the format
/// is described in sim/import/replay/README.md.
namespace stepcast {

enum class WorkKind : std::uint8_t { compute, host, copy, marker, collective, send, recv };
template <>
struct EnumText<WorkKind> {
  static constexpr std::array<std::pair<WorkKind, std::string_view>, 7> table{
      {{WorkKind::compute, "compute"},
       {WorkKind::host, "host"},
       {WorkKind::copy, "copy"},
       {WorkKind::marker, "marker"},
       {WorkKind::collective, "collective"},
       {WorkKind::send, "send"},
       {WorkKind::recv, "recv"}}};
};

struct WorkOp {
  WorkKind kind = WorkKind::compute;
  std::uint16_t lane = 0;
  NameId name = 0;
  double duration_s = 0;  // compute, host, copy: of the op; marker: of the host's work before it.
                          // collective, send, recv: transfer once
                          // everyone has arrived
  double delay_s = 0;     // from the moment lane and dependencies are ready to its start; what the
                          // recording does not explain
  std::int64_t bytes =
      0;  // collective: S as nccl-tests counts it; send, recv: the message; 0 = unknown
  Collective collective = Collective::all_reduce;
  std::int32_t group = -1;  // collective: index into Workload::groups
  std::int32_t peer = -1;   // send, recv: the other rank
  std::int64_t match =
      0;  // equal for all members of one collective, and for the two ends of one message
  std::int32_t step = -1;  // index into Workload::steps
  std::vector<std::uint32_t>
      after;  // ops of the same rank, by index, that complete first (beside the lane's order)
};
struct WorkGroup {
  std::string name;
  GroupKind kind = GroupKind::dp;
  int size = 0;
  std::vector<int> ranks;
};  // ranks: those recorded
struct WorkRank {
  int rank = 0, stage = -1;
  std::vector<std::string> lanes;
  std::vector<WorkOp> ops;  // dependencies point to smaller indices
};
/// How long a step takes. period: from its marker to the next one on the marking rank, and no less
/// than the rank's device works for it; span: first start to last end of its ops.
enum class StepRule : std::uint8_t { period, span };
template <>
struct EnumText<StepRule> {
  static constexpr std::array<std::pair<StepRule, std::string_view>, 2> table{
      {{StepRule::period, "period"}, {StepRule::span, "span"}}};
};
struct WorkStep {
  std::int64_t number = 0;
  double measured_s = 0;
};  // 0 = generated, never measured
/// When a send is over. rendezvous: with its receive, as NCCL's; eager: when its own transfer is,
/// whether or not the receive was posted, as MPI's small messages and Chakra's simulators have it.
enum class MessageRule : std::uint8_t { rendezvous, eager };
template <>
struct EnumText<MessageRule> {
  static constexpr std::array<std::pair<MessageRule, std::string_view>, 2> table{
      {{MessageRule::rendezvous, "rendezvous"}, {MessageRule::eager, "eager"}}};
};
struct Workload {
  std::string origin;  // "kineto", "chakra", "scenario" ...
  StepRule rule = StepRule::span;
  MessageRule messages = MessageRule::rendezvous;
  std::string device;  // GPU model where known
  NameTable names;
  std::vector<WorkGroup> groups;
  std::vector<WorkStep> steps;
  std::vector<WorkRank> ranks;
  std::vector<std::string> notes;  // what the recording lacked and how it was filled
  std::size_t op_count() const;
};

/// zstd by name (.zst), gzip (.gz) or plain JSON. Throws EnvironmentError.
void write_workload(const Workload& workload, const std::string& path);
Result<Workload> read_workload(const std::string& path);
/// Fault of a workload (dependency forwards, group or rank out of range, message without its other
/// end), or "".
std::string workload_fault(const Workload& workload);
bool sniff_workload(std::string_view head);
}  // namespace stepcast
