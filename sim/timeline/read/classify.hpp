#pragma once
#include <string_view>

#include "sim/timeline/store/slice_category.hpp"

namespace stepcast::trace {
/// What the category of an event says about where it ran.
enum class EventPlace : std::uint8_t { unknown, device, host };
EventPlace place_of(std::string_view category);

/// What to show a slice as. `args`: raw JSON, looked at for the group of a collective only.
/// Our own categories are taken at their word; PyTorch's kernels by name and group; anything else
/// by the words of its name and category
/// ("forward-compute", "DataLoader", "save_checkpoint").
SliceCategory classify(std::string_view name, std::string_view category, std::string_view args);
/// True where `args` may change the answer.
bool depends_on_args(std::string_view name, std::string_view category);
}  // namespace stepcast::trace
