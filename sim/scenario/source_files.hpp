#pragma once
#include <string>
#include <vector>

namespace stepcast {
/// The files whose content a scenario under these settings stands on: itself, its includes, its
/// presets and its profile; sorted, each once. Files that cannot be read are named too, a profile
/// that nothing names yet is not. Never fails.
std::vector<std::string> source_files(const std::string& path,
                                      const std::vector<std::string>& settings);
}  // namespace stepcast
