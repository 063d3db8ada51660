#pragma once
#include <string>
#include <vector>

#include "sim/scenario/layers.hpp"

/// Private to sim/scenario: "include": other scenario files that lie below this one.
namespace stepcast {
/// Puts the includes of `content` (one path or a list, relative to `file`), each with its own
/// includes, and then `content` itself on the document. `chain` holds the canonical paths of the
/// files being included; a file met twice in it is a circle.
void add_with_includes(LayeredDocument& document, const std::string& file, Json content,
                       std::vector<std::string>& chain, Problems& problems);
}  // namespace stepcast
