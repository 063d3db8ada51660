#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <map>

#include "sim/core/robust_stats.hpp"
#include "sim/import/common/collective_match.hpp"
#include "sim/import/kineto/kineto.hpp"
#include "sim/import/replay/replay.hpp"
#include "sim/import/replay/trace_workload.hpp"
#include "sim/import/replay/what_if.hpp"
#include "sim/io/csv.hpp"
#include "tests/fidelity/import/shared_data.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
/// A job that was measured with few ranks: everyone computes, then the gradients meet.
Workload measured_job(int ranks, double compute_s, double sync_s) {
  Workload w;
  w.origin = "table";
  w.steps = {{0, compute_s + sync_s}};
  const NameId compute = w.names.id_of("compute"), reduce = w.names.id_of("gradients");
  w.groups = {{"dp", GroupKind::dp, ranks, {}}};
  for (int r = 0; r < ranks; ++r) {
    w.groups[0].ranks.push_back(r);
    w.ranks.push_back({r,
                       -1,
                       {"gpu"},
                       {{.name = compute, .duration_s = compute_s, .step = 0, .after = {}},
                        {.kind = WorkKind::collective,
                         .name = reduce,
                         .duration_s = sync_s,
                         .group = 0,
                         .match = 1,
                         .step = 0,
                         .after = {}}}});
  }
  return w;
}
}  // namespace

TEST_CASE("workloads of six ranks predict the larger runs of the same table",
          "[fidelity][scale-out]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  // Columns: nodes, GPUs, batch of each GPU, seconds a step, seconds of it in the gradient
  // reduction. One GPU a node, so that the network alone changes.
  for (const char* model : {"cifar10", "ncf"}) {
    const auto table =
        CsvTable::read(data + "/traces/adaptdl/" + model + "/scalability.csv").value_or_throw();
    std::map<std::pair<int, int>, std::pair<double, double>> rows;  // (nodes, batch)
    for (std::size_t i = 0; i < table.rows(); ++i)
      if (*table.number(i, "num_nodes") == *table.number(i, "num_replicas"))
        rows[{static_cast<int>(*table.number(i, "num_nodes")),
              static_cast<int>(*table.number(i, "local_bsz"))}] = {*table.number(i, "step_time"),
                                                                   *table.number(i, "sync_time")};
    std::map<int, std::vector<double>> errors;
    std::vector<double> all, signed_errors;
    for (const auto& [key, measured] : rows) {
      const auto small = rows.find({6, key.second});
      if (key.first == 6 || small == rows.end()) continue;
      const auto& [step, sync] = small->second;
      const double predicted =
          replay(with_data_parallel_size(measured_job(6, step - sync, sync), key.first).workload)
              .step_s[0];
      signed_errors.push_back(predicted / measured.first - 1);
      all.push_back(std::abs(signed_errors.back()));
      errors[key.first].push_back(all.back());
    }
    for (const auto& [nodes, list] : errors)
      std::cout << fmt::format("{}: 6 -> {} ranks: {} rows, median {:.1f} %, worst {:.1f} %\n",
                               model, nodes, list.size(), 100 * median(list),
                               100 * quantile(list, 1));
    std::cout << fmt::format("{}: median {:.1f} %, bias {:+.1f} %\n", model, 100 * median(all),
                             100 * mean(signed_errors));
    // The ring's factor alone: what more ranks add in stragglers is not in six of them, so the
    // forecast stays below the measured time.
    REQUIRE(all.size() >= 30);
    REQUIRE(median(all) <= 0.20);
    REQUIRE(mean(signed_errors) < 0);
  }
}

TEST_CASE("replay keeps which recorded rank is late", "[fidelity][replay]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  std::vector<RankTrace> traces;
  for (const char* file : {"sampled_rank-0.json.gz", "sampled_rank-1.json.gz"})
    traces.push_back(kineto::read_trace(data + "/traces/HolisticTraceAnalysis/dlrm128/" + file));
  Anomalies anomalies;
  align_clocks(traces, anomalies);
  std::map<std::int64_t, std::uint32_t> last;  // meeting -> trace that came last, by the recording
  const auto matches = match_collectives(traces, anomalies);
  REQUIRE(matches.size() >= 4);
  for (std::size_t i = 0; i < matches.size(); ++i)
    if (matches[i].spread.value > 20e-6)
      last[static_cast<std::int64_t>(i) + 1] = matches[i].last_trace;
  const Workload w = workload_of(traces, anomalies);
  const ReplayResult r = replay(w);
  int kept = 0;
  for (const auto& members : r.meetings) {
    const auto& [rank, op] = members.back();
    if (const auto found = last.find(w.ranks[rank].ops[op].match); found != last.end())
      kept += found->second == rank;
  }
  std::cout << fmt::format("late rank kept in {} of {} meetings\n", kept, last.size());
  REQUIRE(kept == static_cast<int>(last.size()));
}
