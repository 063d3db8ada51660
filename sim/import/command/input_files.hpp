#pragma once
#include <string>
#include <vector>

namespace stepcast {
/// Files named on the command line, folders walked, tar archives (compressed too) unpacked into a
/// folder that lives as long as this.
class InputFiles {
 public:
  explicit InputFiles(const std::vector<std::string>& named);
  InputFiles(const InputFiles&) = delete;
  InputFiles& operator=(const InputFiles&) = delete;
  ~InputFiles();
  const std::vector<std::string>& paths() const { return paths_; }
  /// True when every argument is one file: then a file of no known kind is refused where it is
  /// passed over in a folder or archive.
  bool names_single_files() const { return !has_container_; }

 private:
  void add(const std::string& path);
  void unpack(const std::string& path);
  std::vector<std::string> paths_, folders_;
  bool has_container_ = false;
};

enum class ImportKind {
  nccl_tests,
  kineto,
  chakra,
  nsys,
  goal,
  straggler_table,
  workload,
  chrome_timeline,
  k8s,
  unknown
};
/// By content; the name is not looked at.
ImportKind kind_of(const std::string& path);
/// "nccl-tests", "kineto" ...; unknown for anything else.
ImportKind kind_named(const std::string& word);
const std::vector<std::string>& kind_names();
}  // namespace stepcast
