#pragma once
#include <span>

#include "sim/import/common/rank_trace.hpp"
#include "sim/timeline/timeline.hpp"

namespace stepcast {
/// Which kind of group a collective runs in, from the group's description ("tensor model parallel",
/// "dp_group", "default_pg").
GroupKind group_kind_of(const CollectiveCall& call);
/// Owner of communication of such a group that compute does not hide.
Category exposed_category(GroupKind kind);
/// All ranks on one clock as the project's own timeline: device streams, host threads, launch
/// arrows left out. Times count from the earliest event. Categories: communication by group kind,
/// copies "other", host calls "other".
Timeline timeline_of(std::span<const RankTrace> traces);
}  // namespace stepcast
