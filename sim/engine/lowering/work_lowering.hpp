#pragma once
#include <vector>

#include "sim/engine/lowering/program_lowering.hpp"
#include "sim/engine/lowering/segment_builder.hpp"

namespace stepcast {
/// A work list in seconds. Collectives inside a node are part of their segment; one that crosses
/// nodes stands between two segments, or beside one when it hides behind it (ring attention).
struct WorkItem {
  enum class Kind { segment, transfer, beside } kind = Kind::segment;
  std::uint32_t index = 0;  // into Program::segments or transfers
  Category category = Category::compute;
  NameId name = 0;
};
struct LoweredWork {
  std::vector<WorkItem> items;
  Doubts doubts;
};

class WorkLowering {
 public:
  WorkLowering(const Scenario& scenario, const CostModel& cost, const CodecFactors& codec,
               const CollectiveModel& collectives, const CollectiveHabits& habits,
               const NodeSpec& node, const BlockView& view, NameTable& names, Program& program)
      : scenario_(scenario),
        cost_(cost),
        codec_(codec),
        collectives_(collectives),
        habits_(habits),
        node_(node),
        view_(view),
        names_(names),
        program_(program),
        builder_(names) {}
  LoweredWork lower(const WorkList& list, Category category);

 private:
  void add_compute(const Op& op, Category category);
  bool add_host_work(const Op& op, Category category);
  void add_collective(const std::vector<Op>& ops, std::size_t at);
  /// Index of the transfer that a piece inside of a segment names.
  std::int32_t in_node_transfer(const CollectiveShape& shape, int ranks);
  Seconds issue_time(const Op& collective, const GroupShape& group) const;
  /// Host time over GPU time of the compute ops, at most 1: how far a GPU that lags behind its host
  /// fails to hide that the ranks of a group are issued apart.
  double host_over_gpu(const std::vector<Op>& ops) const;
  void close_segment(const std::string& name, Category category);
  double hidden_behind_attention(const std::vector<Op>& ops, std::size_t at);

  const Scenario& scenario_;
  const CostModel& cost_;
  const CodecFactors& codec_;
  const CollectiveModel& collectives_;
  const CollectiveHabits& habits_;
  const NodeSpec& node_;
  const BlockView& view_;
  NameTable& names_;
  Program& program_;
  SegmentBuilder builder_;
  LoweredWork result_;
  double host_over_gpu_ = 1;   // of the list at hand
  double attention_left_ = 0;  // seconds of the coming attention not yet used to hide an exchange
  std::size_t attention_counted_at_ = 0;  // op behind which it was counted
};
}  // namespace stepcast
