#pragma once
#include <unistd.h>

#include <filesystem>
#include <string>

#include "sim/io/files.hpp"

namespace stepcast::test {
/// A file (or folder) below the temporary folder, named by process and removed at the end of the
/// test; a .gz is packed by name.
class TempPath {
 public:
  explicit TempPath(const std::string& name)
      : path((std::filesystem::temp_directory_path() /
              ("stepcast_" + std::to_string(getpid()) + "_" + name))
                 .string()) {}
  TempPath(const std::string& name, const std::string& content) : TempPath(name) {
    write_file(path, content);
  }
  TempPath(const TempPath&) = delete;
  TempPath& operator=(const TempPath&) = delete;
  ~TempPath() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  const std::string path;
};
}  // namespace stepcast::test
