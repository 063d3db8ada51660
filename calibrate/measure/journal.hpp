#pragma once
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "calibrate/measure/stopping_rule.hpp"

namespace stepcast::calibrate {
/// One measured quantity. Keys of kernels are those of sim/profile/kernel_key.hpp; others name what
/// they are: "collective/all_reduce/2/1048576", "launch/host", "copy/4194304", "step/measured".
struct Entry {
  std::string key;
  Summary summary;
};

/// Finished measurements, one JSON line per task, flushed as each ends. A process that is killed
/// loses the running task and nothing else; the next run with the same identity goes on behind it.
/// A torn last line is dropped, a foreign journal refused.
class Journal {
 public:
  /// `identity`: device, versions, ranks, conditions: what must be equal for results to belong
  /// together. "" path: memory only.
  Journal(std::string path, const std::string& identity);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  bool has(const std::string& task) const { return tasks_.contains(task); }
  void add(const std::string& task, const std::vector<Entry>& entries);
  std::vector<std::string> tasks() const;
  /// All entries, in the order of measurement; of equal keys the last.
  std::vector<Entry> entries() const;
  std::size_t resumed() const { return resumed_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::FILE* file_ = nullptr;
  std::map<std::string, std::vector<Entry>> tasks_;
  std::vector<std::string> order_;
  std::size_t resumed_ = 0;
};
}  // namespace stepcast::calibrate
