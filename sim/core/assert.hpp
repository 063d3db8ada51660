#pragma once
#include <stdexcept>
#include <string>

namespace stepcast {
/// Our own mistake: a broken invariant that no input may reach. main answers it with exit code 1.
struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};
/// A device, library or file that the machine does not give us. main answers it with exit code 3.
struct EnvironmentError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
[[noreturn]] void fail_assert(const char* condition, const char* why, const char* file, int line);
}  // namespace stepcast

/// On in every build. `why` says why the condition holds, not what went wrong.
#define STEPCAST_ASSERT(condition, why) \
  ((condition) ? static_cast<void>(0)   \
               : ::stepcast::fail_assert(#condition, why, __FILE__, __LINE__))
