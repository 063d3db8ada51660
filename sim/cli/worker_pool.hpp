#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stepcast {
/// What one child process came back with.
struct WorkerAnswer {
  std::size_t task = 0;
  std::string text;  // what `work` returned
  std::string
      death;  // not empty: why there is no text ("was killed by signal 11", "ended with code 1")
  bool was_killed =
      false;  // by SIGKILL or SIGTERM: the machine's doing rather than a fault of the work
};

/// Runs `work(task)` in a child process each, `jobs` at a time: SimGrid keeps one engine per
/// process, and a crash or a runaway allocation takes one point with it rather than the sweep.
/// `done` sees each answer as it arrives. SIGINT or SIGTERM kill and reap the children under way;
/// the return value is false then. `work` runs after fork: it may do anything, its standard output
/// is discarded.
bool run_in_processes(const std::vector<std::size_t>& tasks, int jobs,
                      const std::function<std::string(std::size_t)>& work,
                      const std::function<void(const WorkerAnswer&)>& done);
}  // namespace stepcast
