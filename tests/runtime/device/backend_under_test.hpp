#pragma once
#include <cstdlib>
#include <string>

namespace stepcast::runtime::test {
/// $STEPCAST_TEST_BACKEND or cpu. The same programs run on cpu, on the cuda plugin over doubles of
/// its libraries (tests/runtime/doubles) and on a GPU (label gpu).
inline std::string backend_under_test() {
  const char* named = std::getenv("STEPCAST_TEST_BACKEND");
  return named == nullptr ? "cpu" : named;
}
}  // namespace stepcast::runtime::test
