#include "sim/straggler/trace/attribution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "sim/core/robust_stats.hpp"
#include "sim/import/replay/replay.hpp"

namespace stepcast {
namespace {
bool is_transfer(const WorkOp& o) {
  return o.kind == WorkKind::collective || o.kind == WorkKind::send || o.kind == WorkKind::recv;
}
double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

class Attribution {
 public:
  explicit Attribution(const Workload& workload) : traced_(workload) {
    std::map<NameId, std::vector<double>> compute, transfer;
    std::map<int, int> members;  // of a stage so far
    for (const WorkRank& r : workload.ranks) {
      replica_.push_back(members[r.stage]++);
      for (const WorkOp& o : r.ops)
        (is_transfer(o) ? transfer : compute)[o.name].push_back(o.duration_s);
    }
    for (auto& [name, durations] : compute) ideal_[name] = mean_of(durations);
    for (auto& [name, durations] : transfer) ideal_[name] = median(durations);
  }

  TraceAttribution run() {
    TraceAttribution out;
    for (const WorkStep& s : traced_.steps)
      out.measured_s += s.measured_s / static_cast<double>(traced_.steps.size());
    out.traced_s = step_with([](std::size_t, const WorkOp&) { return false; });
    out.ideal_s = step_with([](std::size_t, const WorkOp&) { return true; });
    const double lost = out.traced_s - out.ideal_s;
    const auto part = [&](std::string name,
                          const std::function<bool(std::size_t, const WorkOp&)>& is_part) {
      AttributedPart p{std::move(name)};
      p.slowdown =
          step_with([&](std::size_t r, const WorkOp& o) { return !is_part(r, o); }) / out.ideal_s;
      p.recovered = lost > 1e-9 * out.ideal_s ? (out.traced_s - step_with(is_part)) / lost : 0;
      return p;
    };
    std::set<int> stages, replicas;
    std::set<NameId> names;
    for (std::size_t r = 0; r < traced_.ranks.size(); ++r) {
      stages.insert(traced_.ranks[r].stage);
      replicas.insert(replica_[r]);
      for (const WorkOp& o : traced_.ranks[r].ops) names.insert(o.name);
    }
    for (const int stage : stages)
      out.stages.push_back(part(
          fmt::format("stage {}", stage),
          [&, stage](std::size_t r, const WorkOp&) { return traced_.ranks[r].stage == stage; }));
    for (const int replica : replicas)
      out.replicas.push_back(
          part(fmt::format("replica {}", replica),
               [&, replica](std::size_t r, const WorkOp&) { return replica_[r] == replica; }));
    for (const NameId name : names)
      out.ops.push_back(part(traced_.names.text_of(name),
                             [name](std::size_t, const WorkOp& o) { return o.name == name; }));
    // Every worker of a large job would be two replays each: the slowest by their own compute are
    // enough.
    constexpr std::size_t kMostWorkers = 16;
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t r = 0; r < traced_.ranks.size(); ++r)
      order.emplace_back(-compute_slowness(r), r);
    std::sort(order.begin(), order.end());
    order.resize(std::min(order.size(), kMostWorkers));
    for (const auto& [slowness, worker] : order)
      out.workers.push_back(part(fmt::format("rank {}", traced_.ranks[worker].rank),
                                 [w = worker](std::size_t r, const WorkOp&) { return r == w; }));
    for (auto* list : {&out.stages, &out.replicas, &out.workers, &out.ops})
      std::stable_sort(
          list->begin(), list->end(),
          [](const AttributedPart& a, const AttributedPart& b) { return a.slowdown > b.slowdown; });
    out.stragglers = as_causes();
    return out;
  }

 private:
  double step_with(const std::function<bool(std::size_t, const WorkOp&)>& is_ideal) const {
    Workload changed = traced_;
    for (std::size_t r = 0; r < changed.ranks.size(); ++r)
      for (WorkOp& o : changed.ranks[r].ops)
        if (is_ideal(r, o)) o.duration_s = ideal_.at(o.name);
    return mean_of(replay(changed, {.keep_delays = false}).step_s);
  }
  /// A rank's compute over what its ops take on average.
  double compute_slowness(std::size_t rank) const {
    double mine = 0, usual = 0;
    for (const WorkOp& o : traced_.ranks[rank].ops)
      if (!is_transfer(o)) mine += o.duration_s, usual += ideal_.at(o.name);
    return usual > 0 ? mine / usual : 1;
  }
  std::vector<StragglerSpec> as_causes() const {
    std::vector<StragglerSpec> causes;
    for (std::size_t r = 0; r < traced_.ranks.size(); ++r) {
      // Jitter: spread of log durations about this rank's own level of each op, robust.
      std::map<NameId, std::vector<double>> logs;
      for (const WorkOp& o : traced_.ranks[r].ops)
        if (!is_transfer(o) && o.duration_s > 0) logs[o.name].push_back(std::log(o.duration_s));
      double weight = 0, variance = 0;
      for (const auto& [name, values] : logs) {
        const double middle = median(values);
        std::vector<double> off;
        for (const double v : values) off.push_back(std::abs(v - middle));
        const double sigma = 1.4826 * median(off),
                     seconds = ideal_.at(name) * static_cast<double>(values.size());
        variance += sigma * sigma * seconds;
        weight += seconds;
      }
      StragglerSpec c;
      c.ranks = {{traced_.ranks[r].rank, traced_.ranks[r].rank}};
      c.compute_slowdown = compute_slowness(r);
      c.lognormal_sigma = weight > 0 ? std::sqrt(variance / weight) : 0;
      causes.push_back(c);
    }
    return causes;
  }

  const Workload& traced_;
  std::vector<int> replica_;
  std::map<NameId, double> ideal_;
};
}  // namespace

TraceAttribution attribute_trace(const Workload& workload) { return Attribution(workload).run(); }
}  // namespace stepcast
