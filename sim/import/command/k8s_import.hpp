#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "sim/import/k8s/k8s.hpp"

namespace stepcast {
/// stepcast import k8s FILE: a job's manifest into a scenario.
struct K8sArguments {
  std::string file;
  std::vector<std::string> outputs;
  k8s::ImportOptions options;
  bool is_json = false;
};
/// --cluster, --model, --job and --set.
void add_k8s_options(CLI::App& command, K8sArguments& arguments);
int import_manifest(const K8sArguments& arguments);
}  // namespace stepcast
