#pragma once
// The one place that names Catch2.
#include <catch2/catch.hpp>
#include <string>

namespace stepcast::test {
/// Root of the source tree, for tests that read scenarios/ or tests/data/.
std::string source_dir();
}  // namespace stepcast::test
