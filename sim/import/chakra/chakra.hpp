#pragma once
#include <span>
#include <string>
#include <string_view>

#include "sim/import/common/anomalies.hpp"
#include "sim/import/replay/workload_file.hpp"

/// MLCommons Chakra execution traces, protobuf: length-delimited messages, first GlobalMetadata, then one Node each. One file a rank.
///   Node            id 1, name 2, type 3, ctrl_deps 4, data_deps 5, start_us 6, duration_us 7, attr 10
///   Attribute       name 1, then one value: int32 7, int64 9, uint32 11, uint64 13, bool 27, string 29 ...
///   type            4 compute, 5 send, 6 receive, 7 collective        comm_type  0 all-reduce, 2 all-gather, 5 broadcast, 6 all-to-all, 7 reduce-scatter
/// Odd cases: repeated numbers packed or one by one; comm_type on sends and receives repeats the node type; sizes or durations absent.
namespace stepcast::chakra {
bool sniff(std::string_view head);
/// One workload from the files of all ranks (rank from the name's last number). Throws InputError.
Workload read_traces(std::span<const std::string> paths, Anomalies& anomalies);
}  // namespace stepcast::chakra
