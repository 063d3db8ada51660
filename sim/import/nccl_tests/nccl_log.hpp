#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/enum_text.hpp"
#include "sim/core/result.hpp"
#include "sim/core/units.hpp"
#include "sim/import/common/anomalies.hpp"
#include "sim/workload/op.hpp"

/// Text output of nccl-tests and rccl-tests, any version:
///   # nThread 1 nGpus 1 ...                      parameters (absent when the log starts late)
///   #  Rank  0 Group  0 Pid 1 on node7 device  0 [0x07] NVIDIA A100     one line a rank
///   #  size  count  type [redop] [root]  time algbw busbw #wrong  time algbw busbw #wrong
///   33554432 4194304 float sum -1  171.88 195.22 292.83 0  173.28 193.64 290.46 0
/// Columns redop and root exist for some collectives and versions only; the in-place half may be
/// missing. Lines may carry a launcher's prefix, NCCL_DEBUG lines may stand anywhere, several
/// sweeps may follow each other in one file.
namespace stepcast::nccl_tests {

enum class Test : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  all_to_all,
  send_recv,
  scatter,
  gather,
  hypercube,
  unknown
};
struct Timing {
  double time_us = 0, algbw = 0, busbw = 0;
  std::int64_t wrong = 0;
};  // bandwidths in 1e9 bytes/s as printed
struct Row {
  std::int64_t size = 0;  // bytes as the tests count them: the larger of send and receive buffer
  std::string type, redop;
  int root = -1;
  std::optional<Timing> out_of_place, in_place;
  std::size_t line = 0;
  /// The time that a profile takes: out of place where printed, as the published tables do.
  const Timing& best() const { return out_of_place ? *out_of_place : *in_place; }
};
/// One run of one test binary.
struct Sweep {
  std::string file;
  std::size_t line = 0;  // where it starts
  Test test = Test::unknown;
  bool is_test_inferred = false, is_world_inferred = false, is_complete = false;
  int ranks = 0, nodes = 0, ranks_per_node = 0;
  std::vector<std::string> hosts;  // distinct, sorted
  std::string device, version;
  std::vector<std::string> transports;  // from NCCL_DEBUG lines: "socket", "ib", "ofi" ...
  std::vector<Row> rows;                // sizes rise strictly
};
struct Log {
  std::vector<Sweep> sweeps;
  Anomalies anomalies;
  std::int64_t rows_read = 0, rows_lost = 0;
};

/// True when the beginning of a file looks like such a log.
bool sniff(std::string_view head);
/// Parses one log. Never fails on odd content: what cannot be read is counted in `anomalies`.
Log parse_log(const std::string& text, const std::string& file);

/// busbw / algbw of nccl-tests (doc/PERFORMANCE.md): 2(n-1)/n for all_reduce; (n-1)/n for
/// all_gather, reduce_scatter, all_to_all, scatter, gather and hypercube; 1 for the others.
double bus_factor(Test test, int ranks);
/// The profile's collective, or nothing where the profile has none (reduce, scatter, gather,
/// hypercube).
std::optional<Collective> collective_of(Test test);
}  // namespace stepcast::nccl_tests

template <>
struct stepcast::EnumText<stepcast::nccl_tests::Test> {
  using T = stepcast::nccl_tests::Test;
  static constexpr std::array<std::pair<T, std::string_view>, 11> table{
      {{T::all_reduce, "all_reduce"},
       {T::all_gather, "all_gather"},
       {T::reduce_scatter, "reduce_scatter"},
       {T::broadcast, "broadcast"},
       {T::reduce, "reduce"},
       {T::all_to_all, "all_to_all"},
       {T::send_recv, "send_recv"},
       {T::scatter, "scatter"},
       {T::gather, "gather"},
       {T::hypercube, "hypercube"},
       {T::unknown, "unknown"}}};
};
