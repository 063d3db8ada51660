#pragma once
#include <cstddef>
#include <string>

#include "sim/cli/self_usage.hpp"

namespace stepcast {
/// "12/64  19 %  elapsed 0:31  left 2:14" on one line of standard error that is rewritten; silent
/// where that is no terminal.
class Progress {
 public:
  Progress(std::size_t total, std::size_t done_before);
  void step();
  void finish();
  /// The line for a state, without a terminal: what `step` shows.
  static std::string line(std::size_t total, std::size_t done_before, std::size_t done_now,
                          double elapsed_s);

 private:
  std::size_t total_, done_before_, done_now_ = 0;
  Stopwatch watch_;
  bool is_terminal_;
};
}  // namespace stepcast
