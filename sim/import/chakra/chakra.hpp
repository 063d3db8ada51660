#pragma once
#include <span>
#include <string>
#include <string_view>

#include "sim/import/common/anomalies.hpp"
#include "sim/import/replay/workload_file.hpp"

/// MLCommons Chakra execution traces, protobuf: length-delimited messages, first GlobalMetadata,
/// then one Node each. One file a rank.
///   Node            id 1, name 2, type 3, ctrl_deps 4, data_deps 5, start_us 6, duration_us 7,
///   attr 10 Attribute       name 1, then one value: int32 7, int64 9, uint32 11, uint64 13, bool
///   27, string 29 ... type            4 compute, 5 send, 6 receive, 7 collective        comm_type
///   0 all-reduce, 2 all-gather, 5 broadcast, 6 all-to-all, 7 reduce-scatter
/// Older ones: mid 2023  attribute 11 (name 1, type 2, bool 4, uint 6, int 7, text 8), comm_type 0
/// all-reduce, 1 all-to-all, 2 all-gather, 3 reduce-scatter
///             2022-23   no metadata; duration 7, comm_type 13 (1 all-reduce, 2 all-to-all, 3
///             all-gather, 4 reduce-scatter), src 16, dst 17, size 18, tag 19;
///                       the first of them count types from COMP = 3
/// JSON: the converter's text form (objects one after another), one object with "nodes", and
/// PyTorch's execution traces (execution_trace.hpp). Odd cases: repeated numbers packed or one by
/// one; comm_type on sends and receives repeats the node type; sizes or durations absent; missing
/// parents; cycles after linking (counted, the first node of the file is let go).
namespace stepcast::chakra {
bool sniff(std::string_view head);
/// One workload from the files of all ranks (rank from the name's last number). Throws InputError.
Workload read_traces(std::span<const std::string> paths, Anomalies& anomalies);
}  // namespace stepcast::chakra
