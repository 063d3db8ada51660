#include "sim/core/assert.hpp"

namespace stepcast {
void fail_assert(const char* condition, const char* why, const char* file, int line) {
  throw InternalError(std::string(file) + ":" + std::to_string(line) + ": " + condition +
                      " should hold: " + why);
}
}  // namespace stepcast
