#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "sim/import/common/rank_trace.hpp"

/// Collective metadata out of the args of one event.
namespace stepcast::kineto {
/// From the keys that Kineto puts on NCCL kernels and record_param_comms ("Collective name", "In
/// msg nelems", ...).
std::optional<CollectiveCall> call_from_metadata(std::string_view args);
/// From the name of an annotation ("nccl:_all_gather_base") and the shapes of its inputs; `world`
/// stands in for the group size.
CollectiveCall call_from_annotation(std::string_view name, std::string_view args, int world);
/// "[0, 1, 2]" -> numbers; stops at anything else ("...").
std::vector<int> numbers_in(std::string_view list);
}  // namespace stepcast::kineto
