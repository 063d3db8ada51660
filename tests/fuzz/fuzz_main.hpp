#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace stepcast::fuzz {
/// Feeds bytes to one importer; anything but InputError is a finding.
using Target = void (*)(const std::string& path);
/// Mutates the corpus for `seconds` and calls the target on each mutant. Returns the number of
/// runs. Mutations: flipped bits, changed, doubled, removed and swapped stretches, cut tails,
/// joined files, numbers replaced by extreme ones.
std::int64_t run(Target target, const std::string& corpus_folder, double seconds,
                 std::uint64_t seed);
}  // namespace stepcast::fuzz
