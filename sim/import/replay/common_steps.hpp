#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "sim/import/common/rank_trace.hpp"

namespace stepcast {
/// The steps of a trace that every rank recorded: [first, first + count) of its own.
struct CommonSteps {
  std::size_t first = 0, count = 0;
};
/// One per trace. Marked steps meet by number, inferred ones from the first on.
std::vector<CommonSteps> common_steps(std::span<const RankTrace> traces);
}  // namespace stepcast
