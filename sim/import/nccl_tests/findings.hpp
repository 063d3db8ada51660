#pragma once
#include <span>
#include <string>
#include <vector>

#include "sim/import/nccl_tests/nccl_log.hpp"

/// What looks wrong in collective measurements, in plain words with the numbers that show it.
namespace stepcast::nccl_tests {

struct Finding {
  Severity severity = Severity::warning;  // error: do not calibrate from this sweep
  std::string name;  // tcp_fallback, stalls, slow_pair, slow_node, bimodal_size ...
  std::string text;  // one sentence
  std::string file;
  std::size_t line = 0;  // of the sweep it is about; 0: several
  bool is_about(const Sweep& sweep) const { return file == sweep.file && line == sweep.line; }
};

/// Tells machines apart when logs of several are given at once: the hosts' common stem ("node0-" of
/// node0-017) and the GPU.
std::string system_of(const Sweep& sweep);

/// Bytes/s that one node sends to the others while this row runs, in units of 1e9: what a NIC has
/// to carry. all_reduce, all_gather, reduce_scatter, broadcast: rings enter and leave each node
/// once, so busbw itself; send_recv: rank i sends to i + 1, one rank a node crosses: busbw;
/// all_to_all: all g ranks send (n - g)/(n - 1) of it outside.
double node_rate_GBps(const Sweep& sweep, const Row& row);

/// Sizes of a run that its other sizes show as held up (held_up.hpp): the measurement, not the
/// network, and no mark for a forecast.
std::vector<std::int64_t> held_up_sizes(const Sweep& sweep);
/// Checks of one sweep: printed bandwidths against recomputation, TCP-like speed, stalls, sizes off
/// their neighbours or held up, a rate that falls for good, in-place against out-of-place, sizes
/// too small to show bandwidth.
std::vector<Finding> findings_of(const Sweep& sweep);
/// Checks across sweeps of the same test and shape: pairs slower than their peers and the node they
/// have in common.
std::vector<Finding> findings_across(std::span<const Sweep> sweeps);
}  // namespace stepcast::nccl_tests
