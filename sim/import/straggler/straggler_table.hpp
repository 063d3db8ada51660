#pragma once
#include <string>
#include <string_view>

#include "sim/import/common/anomalies.hpp"
#include "sim/import/replay/workload_file.hpp"

/// Operation tables of Megatron-style jobs (the public StragglerAnalysis traces), CSV:
///   dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc
/// One row per operation of one worker: forward/backward-compute, pipeline send/recv, the
/// collectives at the step's two ends, optimizer. Times in seconds from each step's start. A worker
/// runs its rows in order of start; rows that start together are one batched send + receive.
/// Receives and collectives include waiting; the transfer is what remains after the last member
/// came.
namespace stepcast::straggler {
bool sniff(std::string_view head);
/// Throws InputError with every missing column, or when no row can be read.
Workload read_table(const std::string& path, Anomalies& anomalies);
}  // namespace stepcast::straggler
