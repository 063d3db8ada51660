#include "sim/timeline/timeline.hpp"

namespace stepcast {
NameId NameTable::id_of(const std::string& text) {
  const auto [at, is_new] = ids_.try_emplace(text, static_cast<NameId>(texts_.size()));
  if (is_new) texts_.push_back(text);
  return at->second;
}
}  // namespace stepcast
