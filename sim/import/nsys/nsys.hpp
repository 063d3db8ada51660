#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "sim/import/common/rank_trace.hpp"

/// Nsight Systems exports (`nsys export --type sqlite`), schemas from 2.x on:
///   CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, globalPid,
///   shortName -> StringIds) CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId,
///   nameId -> StringIds)     MEMCPY, MEMSET, NVTX_EVENTS
/// Odd cases: tables of what did not happen are missing; columns come and go between versions;
/// names are ids into StringIds or texts; one file holds all ranks of a node: each device of each
/// process becomes one rank.
namespace stepcast::nsys {
bool sniff(std::string_view head);
/// Throws InputError: no SQLite file, damaged, no device work in it.
std::vector<RankTrace> read_export(const std::string& path);
}  // namespace stepcast::nsys
