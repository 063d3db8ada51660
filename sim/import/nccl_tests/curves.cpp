#include "sim/import/nccl_tests/curves.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "sim/core/robust_stats.hpp"
#include "sim/import/common/byte_source.hpp"

namespace stepcast::nccl_tests {
namespace {
constexpr std::int64_t kLogLimit = std::int64_t{256}
                                   << 20;  // a sweep takes 10 KB; NCCL_DEBUG=TRACE may add a lot

void apply(const ImportOptions& options, Sweep& sweep) {
  if (!sweep.hosts.empty()) return;
  if (options.ranks > 0) sweep.ranks = options.ranks, sweep.is_world_inferred = false;
  if (options.nodes > 0) sweep.nodes = options.nodes;
  if (sweep.nodes == 0) sweep.nodes = 1;
  sweep.ranks_per_node = std::max(1, sweep.ranks / sweep.nodes);
}
}  // namespace

Import import_logs(std::span<const std::string> paths, const ImportOptions& options) {
  Import result;
  for (const std::string& path : paths) {
    Log log = parse_log(read_all(path, kLogLimit), path);
    if (log.rows_read == 0 && paths.size() == 1)
      throw InputError(Problem{path, "", "holds no row of an nccl-tests table",
                               "give the output of all_reduce_perf and its siblings"});
    if (log.rows_read == 0)
      log.anomalies.add("log_without_rows", Severity::error,
                        "the log holds no measurement: the run died before its first size", path);
    result.rows_read += log.rows_read;
    result.rows_lost += log.rows_lost;
    result.anomalies.add(log.anomalies);
    for (Sweep& sweep : log.sweeps) {
      apply(options, sweep);
      result.sweeps.push_back(std::move(sweep));
    }
  }
  if (result.rows_read == 0)
    throw InputError(Problem{paths.empty() ? "" : paths.front(), "",
                             "no log holds a row of an nccl-tests table", ""});
  for (const Sweep& sweep : result.sweeps)
    for (Finding& finding : findings_of(sweep)) result.findings.push_back(std::move(finding));
  for (Finding& finding : findings_across(result.sweeps))
    result.findings.push_back(std::move(finding));
  result.curves = curves_of(result.sweeps, result.findings, result.anomalies);
  return result;
}

std::vector<MeasuredCurve> curves_of(std::span<const Sweep> sweeps,
                                     std::span<const Finding> findings, Anomalies& anomalies) {
  using Key = std::tuple<std::string, Collective, int, int>;  // system, collective, nodes, ranks
  std::map<Key, std::array<std::vector<const Sweep*>, 2>> groups;  // [good, suspect]
  for (const Sweep& sweep : sweeps) {
    const auto collective = collective_of(sweep.test);
    if (!collective) {
      anomalies.add("collective_without_curve", Severity::info,
                    "the profile has no curve for this collective; it is in the report only",
                    sweep.file + " (" + std::string(text_of(sweep.test)) + ")");
      continue;
    }
    if (sweep.ranks < 2) continue;  // counted as ranks_unknown, or a run of a single rank
    const bool is_bad = std::any_of(findings.begin(), findings.end(), [&](const Finding& f) {
      return f.is_about(sweep) &&
             (f.severity == Severity::error || f.name == "slow_pair" || f.name == "slow_node");
    });
    groups[{system_of(sweep), *collective, std::max(1, sweep.nodes), sweep.ranks}][is_bad]
        .push_back(&sweep);
  }
  std::vector<MeasuredCurve> curves;
  for (const auto& [key, both] : groups) {
    const auto& used = both[0].empty() ? both[1] : both[0];
    MeasuredCurve curve;
    std::tie(curve.system, curve.collective, curve.nodes, curve.ranks) = key;
    curve.ranks_per_node = used.front()->ranks_per_node;
    curve.is_suspect = both[0].empty();
    curve.sweeps = static_cast<int>(used.size());
    curve.device = used.front()->device;
    curve.source = used.front()->version.empty() ? "nccl-tests" : used.front()->version;
    std::map<std::int64_t, std::vector<double>> times;
    for (const Sweep* sweep : used)
      for (const Row& row : sweep->rows) times[row.size].push_back(row.best().time_us * 1e-6);
    for (const auto& [size, seconds] : times)
      curve.points.emplace_back(Bytes(size), Seconds(median(seconds)));
    curves.push_back(std::move(curve));
  }
  return curves;
}

CollectiveProfile profile_of(std::span<const MeasuredCurve> curves) {
  CollectiveProfile profile;
  for (const MeasuredCurve& curve : curves)
    if (curve.nodes == 1 && !curve.is_suspect)
      profile.curves.push_back({curve.collective, curve.ranks, curve.points, curve.source});
  return profile;
}
}  // namespace stepcast::nccl_tests
