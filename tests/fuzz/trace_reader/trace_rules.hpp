#pragma once
#include <string>

#include "sim/timeline/read/open_trace.hpp"

namespace stepcast::fuzz {
/// What must hold of a trace that was opened, whatever the bytes of its file: events are shown or
/// counted as lost, slices of a lane follow each other, arrows point at slices. "" when it does,
/// else the rule that is broken.
std::string broken_rule(const trace::OpenResult& opened);
}  // namespace stepcast::fuzz
