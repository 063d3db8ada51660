#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/engine/step_executor.hpp"
#include "sim/import/replay/workload_file.hpp"

namespace stepcast {
/// A pass of the compute lane (forward, a piece of a backward, the optimizer) as ops of a workload.
///
///     host    [ issues up to the launch that binds ][ issues the rest ]
///     GPU     [ gemm | norm | ... ] [wait]          [ what was left behind that launch ]
///
/// The GPU's time is split by kind of op, in order of first appearance; behind the launch that the
/// pass waited for, or came closest to waiting for, it depends on the host. Hence a faster kernel
/// does not outrun the host in a replay, and a faster host helps where it was waited for.
/// Collectives inside the pass (those of its lockstep block) are ops of a group of the block alone.
class PassWriter {
 public:
  struct Place {
    std::uint16_t compute_lane = 0, host_lane = 0;
  };
  /// `name_of`: a job's name in the workload; `block_group`: the workload's group of this rank's
  /// block for a kind; `next_match`: a number that no other meeting has.
  using NameOf = std::function<NameId(NameId)>;
  using BlockGroup = std::function<std::int32_t(GroupKind)>;
  PassWriter(WorkRank& rank, Place place, NameId issue_name, NameOf name_of, BlockGroup block_group,
             std::int64_t& next_match);

  /// Appends the pass. `after`: what it waits for beside its lanes; `ready`: when lane and `after`
  /// allowed it to start.
  void add(const Segment& segment, const ProgramOp& op, const OpTime& time,
           std::vector<std::uint32_t> after, double ready);

 private:
  struct Part {
    NameId name = 0;
    Category category = Category::compute;
    double seconds = 0;
  };
  struct Split {
    double head = 0, tail = 0;  // GPU seconds before and behind the launch that binds
    double issued = 0;          // host seconds up to that launch
  };
  static std::vector<Part> parts_of(const Segment& segment, double slowdown);
  static Split split_of(const Segment& segment, const OpTime& time);
  /// The host's issuing; returns the op whose end the tail waits for.
  std::uint32_t add_host(const Segment& segment, const ProgramOp& op, const OpTime& time,
                         double issued, const std::vector<std::uint32_t>& after, double ready);
  WorkOp op_of(const Part& part, double seconds);

  WorkRank& rank_;
  Place place_;
  NameId issue_name_;
  NameOf name_of_;
  BlockGroup block_group_;
  std::int64_t& next_match_;
  double host_free_ = 0;  // when the host has issued all passes so far
};
}  // namespace stepcast
