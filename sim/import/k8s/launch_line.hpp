#pragma once
#include <string>
#include <utility>
#include <vector>

#include "sim/import/k8s/pod.hpp"

namespace stepcast::k8s {
/// What a command starts, and how many of it.
struct LaunchLine {
  std::string launcher;  // torchrun, mpirun, horovodrun, deepspeed, accelerate; "" = none
  std::string program;   // "pretrain_gpt.py", "all_reduce_perf"; "" = none found
  std::vector<std::string> arguments;
  std::optional<std::int64_t> nodes, per_node, total;         // as the launcher's flags say
  std::vector<std::pair<std::string, std::string>> exported;  // mpirun -x NAME=VALUE
};
/// Reads a container's command: an argument list, or a shell with a script.
LaunchLine launch_line(const Pod& pod, Reading& reading);

struct ProgramFlag {
  std::string name;  // without dashes in front, '_' as '-'
  std::vector<std::string> values;
};
/// --name=value, --name value value, -n value; later ones win where one is asked for.
std::vector<ProgramFlag> program_flags(const std::vector<std::string>& arguments);
}  // namespace stepcast::k8s
