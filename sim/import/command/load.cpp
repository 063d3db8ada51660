#include "sim/import/command/load.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "sim/core/result.hpp"
#include "sim/import/chakra/chakra.hpp"
#include "sim/import/chakra/execution_trace.hpp"
#include "sim/import/chrome_timeline/chrome_timeline.hpp"
#include "sim/import/common/byte_source.hpp"
#include "sim/import/common/collective_match.hpp"
#include "sim/import/goal/goal.hpp"
#include "sim/import/kineto/kineto.hpp"
#include "sim/import/nsys/nsys.hpp"
#include "sim/import/replay/trace_workload.hpp"
#include "sim/import/straggler/straggler_table.hpp"

namespace stepcast {
namespace {
/// Kineto traces, and the execution traces given beside them: these have shapes and no times, so
/// they lend their shapes and are no workload of their own.
void link_host_traces(std::map<ImportKind, std::vector<std::string>>& by_kind,
                      const LoadOptions& options, Loaded& loaded) {
  if (!by_kind.contains(ImportKind::kineto)) return;
  for (const auto& path : by_kind[ImportKind::kineto])
    loaded.traces.push_back(kineto::read_trace(path, {.allow_partial = options.allow_partial}));
  if (!by_kind.contains(ImportKind::chakra)) return;
  std::vector<std::string> left;
  for (const auto& path : by_kind[ImportKind::chakra]) {
    std::optional<chakra::ExecutionTrace> host;
    if (chakra::sniff_json(head_of(path)))
      host = chakra::read_execution_trace(path, loaded.anomalies);
    if (!host) {
      left.push_back(path);
      continue;
    }
    chakra::Linked best;
    for (RankTrace& trace : loaded.traces) {
      if (loaded.traces.size() > 1 && host->rank >= 0 && trace.rank >= 0 &&
          host->rank != trace.rank)
        continue;
      best = chakra::link(*host, trace);
      if (best.reason.empty()) break;
    }
    if (best.reason.empty())
      loaded.anomalies.add(
          "execution_trace_linked", Severity::info,
          "operators of the Kineto trace took their shapes from the execution trace beside it",
          fmt::format("{}: {} by id, {} by order", path, best.by_id, best.by_order));
    else
      loaded.anomalies.add("execution_trace_not_linked", Severity::warning,
                           "the execution trace is no recording of the same moments as the Kineto "
                           "trace and is left aside",
                           fmt::format("{}: {}", path, best.reason));
  }
  if (left.empty())
    by_kind.erase(ImportKind::chakra);
  else
    by_kind[ImportKind::chakra] = left;
}
/// Two recordings of one rank are two jobs, or one read twice; what they do together is neither.
void warn_of_equal_ranks(Loaded& loaded) {
  std::map<int, std::string> file_of_rank;
  for (const RankTrace& trace : loaded.traces) {
    if (trace.rank < 0) continue;
    const auto [at, is_new] = file_of_rank.emplace(trace.rank, trace.file);
    if (!is_new)
      loaded.anomalies.add("rank_recorded_twice", Severity::warning,
                           "several files say that they are the same rank and count as several: "
                           "import one job at a time",
                           fmt::format("{} and {}: rank {}", at->second, trace.file, trace.rank));
  }
}
}  // namespace

Loaded load(const InputFiles& files, const LoadOptions& options, bool is_single) {
  std::map<ImportKind, std::vector<std::string>> by_kind;
  Loaded loaded;
  std::set<std::string> seen;
  for (const std::string& path : files.paths()) {
    if (!seen.insert(path).second)
      throw InputError(Problem{path, "", "is given twice", "name every file once"});
    const ImportKind kind = options.kind != ImportKind::unknown ? options.kind : kind_of(path);
    if (kind != ImportKind::unknown) {
      by_kind[kind].push_back(path);
      continue;
    }
    const std::string hint =
        "known are " + joined(kind_names()) + "; name the kind in front if you are sure";
    if (is_single && head_of(path, 1).empty()) throw InputError(Problem{path, "", "is empty", ""});
    if (is_single)
      throw InputError(Problem{path, "", "is none of the formats that can be imported", hint});
    loaded.anomalies.add(
        "file_of_no_known_kind", Severity::warning,
        "files of a folder or archive that are no trace, log or workload are passed over", path);
  }
  if (by_kind.empty())
    throw InputError(Problem{files.paths().empty() ? "" : files.paths().front(), "",
                             "nothing here can be imported", "known are " + joined(kind_names())});
  link_host_traces(by_kind, options, loaded);
  for (const auto& [kind, paths] : by_kind) {
    switch (kind) {
      case ImportKind::nccl_tests:
        loaded.collectives =
            nccl_tests::import_logs(paths, {.ranks = options.ranks, .nodes = options.nodes});
        break;
      case ImportKind::chakra:
        loaded.workloads.push_back(chakra::read_traces(paths, loaded.anomalies));
        break;
      case ImportKind::kineto:
        break;  // read by link_host_traces
      case ImportKind::chrome_timeline:
        for (const auto& path : paths)
          loaded.traces.push_back(
              chrome_timeline::read_timeline(path, {.allow_partial = options.allow_partial}));
        break;
      case ImportKind::nsys:
        for (const auto& path : paths)
          for (RankTrace& trace : nsys::read_export(path))
            loaded.traces.push_back(std::move(trace));
        break;
      case ImportKind::goal:
        for (const auto& path : paths)
          loaded.workloads.push_back(goal::read_schedule(path, loaded.anomalies));
        break;
      case ImportKind::straggler_table:
        for (const auto& path : paths)
          loaded.workloads.push_back(straggler::read_table(path, loaded.anomalies));
        break;
      case ImportKind::workload:
        for (const auto& path : paths)
          loaded.workloads.push_back(read_workload(path).value_or_throw());
        break;
      case ImportKind::k8s:
        throw InputError(Problem{paths.front(), "",
                                 "is a Kubernetes manifest, which becomes a scenario by itself",
                                 "stepcast import k8s FILE"});
      case ImportKind::unknown:
        break;
    }
  }
  warn_of_equal_ranks(loaded);
  align_clocks(loaded.traces, loaded.anomalies);
  return loaded;
}

Workload workload_from(const Loaded& loaded, Anomalies& anomalies) {
  if (loaded.workloads.size() == 1 && loaded.traces.empty()) return loaded.workloads.front();
  if (loaded.workloads.empty() && !loaded.traces.empty()) {
    Workload w = workload_of(loaded.traces, anomalies);
    if (w.ranks.empty())
      throw InputError(Problem{loaded.traces.front().file, "", "holds no step to replay", ""});
    return w;
  }
  throw InputError(Problem{"command line", "",
                           loaded.workloads.empty() ? "holds nothing that can be replayed"
                                                    : "holds several jobs; a workload is one",
                           "give the files of one job"});
}
}  // namespace stepcast
