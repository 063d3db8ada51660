#pragma once
#include "runtime/backend/backend.hpp"

namespace stepcast::runtime {
/// Opens lib<file> from the first folder that has it. null when none does; `search` then says why.
std::unique_ptr<Backend> load_plugin(const std::string& file, PluginSearch& search);
}  // namespace stepcast::runtime
