#pragma once
#include <string>
#include <utility>
#include <vector>

#include "sim/import/k8s/reading.hpp"

namespace stepcast::k8s {
struct Label {
  std::string key, value;
  int line = 0;
};
/// One container of a pod template, the one that trains.
struct Pod {
  int line = 0;                      // of its command, or of the template
  std::vector<std::string> command;  // command and args; $(NAME) replaced by env as kubelet does
  std::vector<std::pair<std::string, std::string>> environment;
  int gpus = 0;
  std::string gpu_resource;   // "nvidia.com/gpu"
  std::vector<Label> labels;  // nodeSelector, and affinities that require one value
};
/// `container`: the name that the operator asks for; where none has it, the one with GPUs, else the
/// first.
Pod read_pod(const Yaml& pod_template, const std::string& container, Reading& reading);
/// command, args, env and resources of a container-like map, as TrainJob's "trainer" is one too.
void read_container(const Yaml& container, const Yaml* resources, Pod& pod, Reading& reading);
}  // namespace stepcast::k8s
