#pragma once
#include <cstddef>
#include <string>

namespace stepcast {
/// While it lives, a file is being written under a temporary name: a signal that ends the process
/// removes it, where the program called remove_unfinished_on_signals.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(const std::string& temporary);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

 private:
  std::size_t slot_;
};
/// SIGINT, SIGTERM and SIGHUP remove unfinished files and then end the process as they would have.
void remove_unfinished_on_signals();
}  // namespace stepcast
