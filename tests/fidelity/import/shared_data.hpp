#pragma once
#include <cstdlib>
#include <filesystem>
#include <string>
#include "tests/support/test.hpp"

namespace stepcast::test {
/// Folder with the real traces and tables, beside the project and no part of it:
/// $STEPCAST_SHARED_DATA, or the first shared/data found beside one of the project's parents. Empty
/// where absent; tests say so and skip.
inline std::string shared_data() {
  if (const char* given = std::getenv("STEPCAST_SHARED_DATA")) return given;
  for (std::filesystem::path folder = stepcast::test::source_dir(); folder.has_relative_path();
       folder = folder.parent_path())
    if (std::filesystem::is_directory(folder.parent_path() / "shared/data/traces"))
      return (folder.parent_path() / "shared/data").string();
  return "";
}
}  // namespace stepcast::test

#define STEPCAST_NEEDS_SHARED_DATA(variable)                            \
  const std::string variable = stepcast::test::shared_data();           \
  if (variable.empty()) {                                               \
    WARN("skipped: shared/data is not here; set STEPCAST_SHARED_DATA"); \
    return;                                                             \
  }                                                                     \
  static_cast<void>(0)
