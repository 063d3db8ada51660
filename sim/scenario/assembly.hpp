#pragma once
#include "sim/scenario/layers.hpp"
#include "sim/scenario/scenario.hpp"

/// Private to sim/scenario: from the document a person wrote to a checked Scenario.
namespace stepcast {
/// `user` is what includes, file and settings say together. Lays presets and defaults below it,
/// reads every section, fills in what the world size implies and checks the parts against each
/// other. Problems carry the file that has to change.
Scenario assemble(LayeredDocument& document, Json user, const std::string& file,
                  Problems& problems);
/// The strategy of a scenario that names none.
inline constexpr const char* kDefaultStrategy = "megatron";
/// The file of the profile that a scenario names, or that its GPU implies.
Result<std::string> profile_path_of(const Scenario& scenario);
}  // namespace stepcast
