// The straggler counterfactual: what if every op took its class's usual time?
// Method: Lin et al., "Understanding stragglers in large model training using what-if analysis",
// OSDI 2025: compute takes the mean of its class over ranks and steps, communication the median;
// the same dependencies are replayed without launch gaps.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/core/robust_stats.hpp"
#include "sim/import/replay/what_if.hpp"

namespace stepcast {
namespace {
bool is_transfer(const WorkOp& o) {
  return o.kind == WorkKind::collective || o.kind == WorkKind::send || o.kind == WorkKind::recv;
}
double mean_step(const Workload& w) {
  return mean(replay(w, {.keep_delays = false, .account = false}).step_s);
}
}  // namespace

Change equalised(const Workload& workload, const Keeps& keeps) {
  std::map<NameId, std::vector<double>> classes;
  for (const WorkRank& rank : workload.ranks)
    for (const WorkOp& o : rank.ops)
      if (o.kind != WorkKind::host && o.kind != WorkKind::marker)
        classes[o.name].push_back(o.duration_s);
  std::map<NameId, std::pair<double, double>> usual;  // mean, median
  for (const auto& [name, durations] : classes) usual[name] = {mean(durations), median(durations)};
  Change c{workload,
           "compute takes the mean of its op's class over ranks and steps, transfers the median; "
           "order and dependencies stay",
           0};
  for (WorkRank& rank : c.workload.ranks)
    for (WorkOp& o : rank.ops) {
      if (o.kind == WorkKind::host || o.kind == WorkKind::marker || (keeps && keeps(rank, o)))
        continue;
      const auto& [average, middle] = usual.at(o.name);
      o.duration_s = is_transfer(o) ? middle : average;
      ++c.ops_changed;
    }
  return c;
}

StragglerReport straggler_report(const Workload& workload) {
  StragglerReport report;
  report.as_was_s = mean_step(workload);
  report.ideal_s = mean_step(equalised(workload).workload);
  report.slowdown = report.ideal_s > 0 ? report.as_was_s / report.ideal_s : 1;
  const auto alone = [&](const Keeps& keeps) {
    return report.ideal_s > 0 ? mean_step(equalised(workload, keeps).workload) / report.ideal_s : 1;
  };
  std::set<int> stages;
  std::map<std::string, double> weight;  // op class -> seconds, to look at the large ones only
  for (const WorkRank& rank : workload.ranks) {
    if (rank.stage >= 0) stages.insert(rank.stage);
    for (const WorkOp& o : rank.ops)
      if (o.kind != WorkKind::host && o.kind != WorkKind::marker)
        weight[workload.names.text_of(o.name)] += o.duration_s;
  }
  if (workload.ranks.size() > 1 && workload.ranks.size() <= 64)
    for (const WorkRank& rank : workload.ranks)
      report.ranks.push_back(
          {fmt::format("rank {}", rank.rank),
           alone([&](const WorkRank& r, const WorkOp&) { return r.rank == rank.rank; })});
  if (stages.size() > 1)
    for (const int stage : stages)
      report.stages.push_back(
          {fmt::format("stage {}", stage),
           alone([&](const WorkRank& r, const WorkOp&) { return r.stage == stage; })});
  std::vector<std::pair<double, std::string>> heavy;
  for (const auto& [name, seconds] : weight) heavy.emplace_back(seconds, name);
  std::sort(heavy.rbegin(), heavy.rend());
  for (std::size_t i = 0; i < heavy.size() && i < 12; ++i)
    report.ops.push_back({heavy[i].second, alone([&](const WorkRank&, const WorkOp& o) {
                            return workload.names.text_of(o.name) == heavy[i].second;
                          })});
  for (auto* list : {&report.ranks, &report.stages, &report.ops})
    std::stable_sort(list->begin(), list->end(), [](const Attribution& a, const Attribution& b) {
      return a.slowdown > b.slowdown;
    });
  return report;
}
}  // namespace stepcast
