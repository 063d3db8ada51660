#include <fmt/format.h>

#include <iostream>
#include <map>

#include "sim/core/robust_stats.hpp"
#include "sim/import/nccl_tests/curves.hpp"
#include "sim/io/csv.hpp"
#include "tests/fidelity/import/shared_data.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::nccl_tests;
namespace fs = std::filesystem;

namespace {
std::vector<std::string> logs_under(const fs::path& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".log") paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}
/// The public sweeps of nccl_runs.csv with their points, as sweeps.
std::map<std::string, std::pair<Sweep, std::string>> published_sweeps(const std::string& data) {
  std::map<std::string, std::pair<Sweep, std::string>> sweeps;
  const auto runs = CsvTable::read(data + "/measured/nccl_runs.csv").value_or_throw();
  for (std::size_t i = 0; i < runs.rows(); ++i) {
    Sweep s;
    s.file = runs.text(i, "log_id"), s.line = 1;
    const std::string name = runs.text(i, "collective");
    s.test = name == "alltoall"   ? Test::all_to_all
             : name == "sendrecv" ? Test::send_recv
                                  : *enum_from_text<Test>(name);
    s.nodes = static_cast<int>(*runs.number(i, "nodes")),
    s.ranks = static_cast<int>(*runs.number(i, "nranks"));
    s.ranks_per_node = s.ranks / s.nodes, s.hosts = {"published"};
    sweeps[s.file] = {s, runs.text(i, "quality")};
  }
  const auto points = CsvTable::read(data + "/measured/nccl_points.csv").value_or_throw();
  for (std::size_t i = 0; i < points.rows(); ++i) {
    const auto time = points.number(i, "time_us"), size = points.number(i, "size_bytes");
    if (!time || !size) continue;
    Sweep& sweep = sweeps[points.text(i, "log_id")].first;
    std::optional<Timing> in_place;
    if (const auto again = points.number(i, "time_inplace_us"); again && *again > 0) {
      const double algbw = *size / *again * 1e-3;
      in_place = Timing{*again, algbw, algbw * bus_factor(sweep.test, sweep.ranks), 0};
    }
    sweep.rows.push_back({.size = static_cast<std::int64_t>(*size),
                          .type = "float",
                          .out_of_place = Timing{*time, points.number(i, "algbw_GBps").value_or(0),
                                                 points.number(i, "busbw_GBps").value_or(0), 0},
                          .in_place = in_place});
  }
  return sweeps;
}
}  // namespace

TEST_CASE("every handed nccl-tests log imports without a lost row", "[fidelity][nccl]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  const auto paths = logs_under(data + "/traces/nccl-tests-cluster");
  REQUIRE(paths.size() == 19);
  const Import import = import_logs(paths);
  std::cout << report_text(import);
  REQUIRE(import.rows_lost == 0);
  REQUIRE(import.rows_read > 400);
  for (const Sweep& sweep : import.sweeps) {
    REQUIRE(sweep.ranks > 1);
    REQUIRE_FALSE(sweep.is_test_inferred);
  }
  for (const Finding& finding : import.findings) REQUIRE(finding.name != "busbw_mismatch");
  // notes/traces.md: one H100 node of 8: all-reduce 481-482, all-gather 362, reduce-scatter 364,
  // all-to-all 348, send/recv 367.
  for (const auto& [collective, busbw] : {std::pair{Collective::all_reduce, 481.5},
                                          {Collective::all_gather, 362.0},
                                          {Collective::reduce_scatter, 364.0},
                                          {Collective::all_to_all, 348.0},
                                          {Collective::send_recv, 367.0}})
    for (const MeasuredCurve& curve : import.curves)
      if (curve.collective == collective && curve.nodes == 1 && curve.ranks == 8) {
        const double factor = collective == Collective::all_reduce  ? 1.75
                              : collective == Collective::send_recv ? 1
                                                                    : 0.875;
        REQUIRE(static_cast<double>(curve.points.back().first.value) /
                    curve.points.back().second.value * factor * 1e-9 ==
                Approx(busbw).epsilon(0.01));
      }
}

TEST_CASE("published runs known as bad are called bad and good ones are not", "[fidelity][nccl]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  int bad = 0, good = 0, missed = 0, false_alarms = 0;
  for (const auto& [id, entry] : published_sweeps(data)) {
    const auto& [sweep, quality] = entry;
    bool is_called_bad = false;
    for (const Finding& f : findings_of(sweep)) is_called_bad |= f.severity == Severity::error;
    (quality == "good" ? good : bad) += 1;
    if (quality == "good" && is_called_bad)
      ++false_alarms, std::cout << "false alarm: " << findings_of(sweep).front().text << '\n';
    if (quality != "good" && !is_called_bad) ++missed, std::cout << "missed: " << id << '\n';
  }
  std::cout << fmt::format("bad runs called bad: {} of {}; false alarms: {} of {}\n", bad - missed,
                           bad, false_alarms, good);
  REQUIRE(bad == 18);
  REQUIRE(missed == 0);
  REQUIRE(false_alarms == 0);
}

TEST_CASE("broken links of the pair matrix are found and pairs at the cluster's speed are not",
          "[fidelity][nccl]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  const auto table = CsvTable::read(data + "/measured/nccl_pair_matrix.csv").value_or_throw();
  std::vector<Sweep> sweeps;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    if (table.text(i, "cluster") != "h100_cluster00" || *table.number(i, "size_bytes") < 1e10)
      continue;
    const int g = static_cast<int>(*table.number(i, "gpus_per_node"));
    Sweep s{.file = table.text(i, "node_a") + "-" + table.text(i, "node_b"),
            .line = i,
            .test = table.text(i, "collective") == "alltoall" ? Test::all_to_all : Test::send_recv,
            .ranks = 2 * g,
            .nodes = 2,
            .ranks_per_node = g,
            .hosts = {table.text(i, "node_a"), table.text(i, "node_b")}};
    s.rows.push_back({.size = static_cast<std::int64_t>(*table.number(i, "size_bytes")),
                      .type = "float",
                      .out_of_place = Timing{*table.number(i, "time_us"), 0,
                                             *table.number(i, "busbw_GBps"), 0}});
    sweeps.push_back(s);
  }
  int expected = 0,
      found = 0;  // notes/traces.md: 13.5 GB/s with one GPU, a few pairs fall to 0.9-7
  for (const Sweep& s : sweeps)
    if (s.ranks_per_node == 1 && s.rows[0].best().busbw < 10) ++expected;
  for (const Finding& f : findings_across(sweeps)) {
    if (f.name == "slow_pair" && f.text.find("x 1 GPUs") != std::string::npos) ++found;
    if (f.name == "slow_node") std::cout << f.text << '\n';
  }
  std::cout << fmt::format("pairs with one GPU a node below 10 GB/s: {}; called slow: {}\n",
                           expected, found);
  REQUIRE(expected > 0);
  REQUIRE(found >= expected);
}

namespace {
/// Errors of one comparison: every size, sizes not called held up, and 128 MiB and more, where
/// bandwidth decides and one timing is repeatable.
struct Errors {
  std::vector<double> all, sound, large;
  void add(double error, std::int64_t size, bool is_held_up) {
    all.push_back(error);
    if (!is_held_up) sound.push_back(error);
    if (size >= 128 << 20) large.push_back(error);
  }
  std::string text() const {
    const auto part = [](const char* name, const std::vector<double>& e) {
      return fmt::format("{} ({}) median {:.1f} %, p95 {:.1f} %", name, e.size(), 100 * median(e),
                         100 * quantile(e, 0.95));
    };
    return part("all sizes", all) + "; " + part("not called held up", sound) + "; " +
           part("from 128 MiB", large);
  }
};
bool holds(const std::vector<std::int64_t>& sizes, std::int64_t size) {
  return std::find(sizes.begin(), sizes.end(), size) != sizes.end();
}
}  // namespace

TEST_CASE("series predict the node counts left out", "[fidelity][nccl]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  std::map<std::string, std::vector<Sweep>> series;  // log id without its node count
  for (auto& [id, entry] : published_sweeps(data)) {
    if (entry.second != "good" || entry.first.nodes < 2 || entry.first.rows.size() < 5) continue;
    const auto at = id.find("n4_");
    // Version and settings stay apart: NCCL 2.18 and 2.21 choose other algorithms on the same
    // nodes.
    if (id.starts_with("polaris_2.") && at != std::string::npos)
      series[id.substr(8, 4) + id.substr(at + 2)].push_back(entry.first);
  }
  Errors errors;
  for (auto& [name, sweeps] : series) {
    for (const Sweep& left_out : sweeps) {
      std::vector<Sweep> others;
      for (const Sweep& s : sweeps)
        if (s.nodes != left_out.nodes) others.push_back(s);
      if (others.empty()) continue;
      Anomalies anomalies;
      const auto curves = curves_of(others, {}, anomalies);
      const auto held_up = held_up_sizes(left_out);
      Errors mine;
      for (const Row& row : left_out.rows)
        if (const auto t = predicted_time(curves, *collective_of(left_out.test), left_out.nodes,
                                          left_out.ranks_per_node, Bytes(row.size))) {
          const double error = std::abs(t->value / (row.best().time_us * 1e-6) - 1);
          mine.add(error, row.size, holds(held_up, row.size));
          errors.add(error, row.size, holds(held_up, row.size));
        }
      std::cout << fmt::format("{} from {} others: {}\n", left_out.file, others.size(),
                               mine.text());
    }
  }
  std::cout << "node counts left out: " << errors.text() << '\n';
  // The bar of 6 % and 20 % holds where bandwidth decides. Of all sizes, 20 % lies below what a run
  // repeats itself to and 6 % does not (next test). What is reached for all sizes is kept
  // here: 34.0 and 548 % before the model of steps, 13.0 and 95 % before sizes bounded each other.
  REQUIRE(median(errors.large) <= 0.06);
  REQUIRE(quantile(errors.large, 0.95) <= 0.20);
  REQUIRE(median(errors.all) <= 0.14);
  REQUIRE(quantile(errors.all, 0.95) <= 0.75);
  REQUIRE(errors.sound.size() >= 0.85 * static_cast<double>(errors.all.size()));
  REQUIRE(median(errors.sound) <= 0.12);
}

TEST_CASE("a run repeats itself this well", "[fidelity][nccl]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  // In place and out of place move the same bytes over the same nodes with the same settings,
  // seconds apart: the one as the forecast of the other is the floor under any model's error.
  std::map<int, Errors> by_nodes;
  Errors floor;
  for (const auto& [id, entry] : published_sweeps(data)) {
    const auto& [sweep, quality] = entry;
    if (!id.starts_with("polaris_") || quality != "good") continue;
    const auto held_up = held_up_sizes(sweep);
    for (const Row& row : sweep.rows) {
      if (!row.in_place || row.in_place->time_us <= 0) continue;
      const double ratio = row.out_of_place->time_us / row.in_place->time_us;
      for (const double error : {std::abs(ratio - 1), std::abs(1 / ratio - 1)}) {
        by_nodes[sweep.nodes].add(error, row.size, holds(held_up, row.size));
        floor.add(error, row.size, holds(held_up, row.size));
      }
    }
  }
  for (const auto& [nodes, errors] : by_nodes)
    std::cout << fmt::format("repeats on {} nodes: {}\n", nodes, errors.text());
  std::cout << "repeats: " << floor.text() << '\n';
  REQUIRE(floor.all.size() >= 800);
  // What docs/import.md says of the floor: its 95th percentile lies above the bar of 20 %, its
  // median far below the 6 %, so the median that is missed is the model's.
  REQUIRE(quantile(floor.all, 0.95) > 0.20);
  REQUIRE(median(floor.all) < 0.03);
  REQUIRE(quantile(floor.large, 0.95) <= 0.03);
}
