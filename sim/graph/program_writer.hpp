#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/graph/step_graph.hpp"

namespace stepcast {
/// Appends ops to one stage's program in issue order.
class ProgramWriter {
 public:
  int add_list(std::string_view name, std::vector<Op> ops) {
    graph_.works.push_back({std::string(name), std::move(ops)});
    return static_cast<int>(graph_.works.size()) - 1;
  }
  /// A run of ops on the compute lane. It also waits for what `hold_compute` was given since the
  /// last work.
  int work(int list, std::vector<int> after, int micro_batch = -1, int chunk = 0,
           Category category = Category::compute) {
    after.insert(after.end(), held_.begin(), held_.end());
    held_.clear();
    return append({.kind = GraphOp::Kind::work,
                   .lane = Lane::compute,
                   .category = category,
                   .name = graph_.works[static_cast<std::size_t>(list)].name,
                   .work = list,
                   .after = std::move(after),
                   .micro_batch = micro_batch,
                   .chunk = chunk});
  }
  /// The next work on the compute lane also waits for `op`.
  void hold_compute(int op) { held_.push_back(op); }
  int collective(std::string_view name, Lane lane, Category category, Collective collective,
                 GroupKind group, Bytes buffer, std::vector<int> after) {
    return append({.kind = GraphOp::Kind::collective,
                   .lane = lane,
                   .category = category,
                   .name = std::string(name),
                   .collective = collective,
                   .group = group,
                   .buffer = buffer,
                   .after = std::move(after)});
  }
  int append(GraphOp op) {
    graph_.ops.push_back(std::move(op));
    return static_cast<int>(graph_.ops.size()) - 1;
  }
  /// Last op issued on a lane so far, -1 when none.
  int last_on(Lane lane) const {
    for (std::size_t i = graph_.ops.size(); i-- > 0;)
      if (graph_.ops[i].lane == lane) return static_cast<int>(i);
    return -1;
  }
  StageGraph take() { return std::move(graph_); }

 private:
  StageGraph graph_;
  std::vector<int> held_;
};
}  // namespace stepcast
