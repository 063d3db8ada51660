#include <fmt/format.h>

#include <algorithm>

#include "sim/import/k8s/parts.hpp"

namespace stepcast::k8s {
namespace {
bool says_horovod(const Job& job, const LaunchLine& line, const Flags& flags) {
  if (line.launcher == "horovodrun") return true;
  const ProgramFlag* update = find_flag(flags, "variable-update");
  if (update != nullptr && !update->values.empty() && update->values.front() == "horovod")
    return true;
  if (line.program.find("horovod") != std::string::npos) return true;
  const auto is_horovod = [](const auto& entry) { return entry.first.starts_with("HOROVOD_"); };
  return std::any_of(job.launcher.environment.begin(), job.launcher.environment.end(),
                     is_horovod) ||
         std::any_of(line.exported.begin(), line.exported.end(), is_horovod);
}

void apply_tensorflow(const Job& job, Reading& reading) {
  if (job.servers > 0) {
    reading.put("/strategy/preset", "tf-parameter-server");
    reading.put("/sync/servers/count", job.servers);
    reading.put("/sync/servers/placement", "dedicated");
    reading.read.push_back(
        fmt::format("{} parameter servers of ParameterServerStrategy, asynchronous", job.servers));
    reading.unknown.emplace_back("the servers' network rate (sync.servers.nic_Gbps)");
    return;
  }
  reading.put("/strategy/preset", job.nodes > 1 ? "tf-multiworker" : "tf-mirrored");
  reading.assumed.push_back(job.nodes > 1 ? "strategy tf-multiworker: several workers and no PS"
                                          : "strategy tf-mirrored: one worker");
}

std::optional<double> number_of(const std::string& text) {
  const Json parsed = Json::parse(text, nullptr, false);
  return parsed.is_number() ? std::optional<double>(parsed.get<double>()) : std::nullopt;
}

/// NCCL user guide, "Environment Variables"; Horovod documentation, "Tensor Fusion".
bool apply_variable(const std::string& name, const std::string& value, Reading& reading) {
  if (name == "NCCL_ALGO") {
    const std::string algorithm = value == "Ring"   ? "ring"
                                  : value == "Tree" ? "tree"
                                  : value == "NVLS" ? "nvls"
                                                    : "";
    if (algorithm.empty()) return false;
    reading.put("/strategy/collective_algorithm", algorithm);
  } else if ((name == "NCCL_IB_DISABLE" && value == "1") ||
             (name == "NCCL_NET" && value == "Socket")) {
    reading.put("/cluster/fabric/transport", "tcp");
  } else if (name == "NCCL_NVLS_ENABLE" && value == "0") {
    reading.put("/cluster/in_switch_reduction", false);
  } else if (name == "CUDA_LAUNCH_BLOCKING" && value == "1") {
    reading.put("/strategy/host", "blocking");
  } else if (name == "HOROVOD_FUSION_THRESHOLD") {
    const auto bytes = number_of(value);
    if (!bytes || *bytes < 1024) return false;
    reading.put("/strategy/bucket_MiB", *bytes / 1048576.0);
  } else if (name == "HOROVOD_CYCLE_TIME") {
    const auto cycle_ms = number_of(value);
    if (!cycle_ms) return false;
    reading.put("/strategy/cycle_ms", *cycle_ms);
  } else if (name == "HOROVOD_HIERARCHICAL_ALLREDUCE" && value == "1") {
    reading.put("/strategy/collective_algorithm", "hierarchical");
  } else {
    return false;
  }
  reading.read.push_back(name + "=" + value);
  return true;
}
}  // namespace

void apply_strategy(const Job& job, const LaunchLine& line, const Flags& flags, bool has_deepspeed,
                    Reading& reading) {
  if (reading.scenario.contains(Json::json_pointer("/strategy/preset"))) {
    // An annotation named it; a TFJob's servers are still the job's own.
    if (job.servers > 0) apply_tensorflow(job, reading);
    return;
  }
  if (job.kind == "TFJob") return apply_tensorflow(job, reading);
  if (is_megatron(line, flags)) {
    reading.put("/strategy/preset", has_deepspeed ? "megatron-deepspeed" : "megatron");
    return;
  }
  if (has_deepspeed) return;  // its configuration names it
  if (says_horovod(job, line, flags)) {
    reading.put("/strategy/preset", "horovod");
    reading.read.emplace_back("strategy horovod from the command or its variables");
    return;
  }
  if (find_flag(flags, "fsdp") != nullptr) {
    reading.put("/strategy/preset", "fsdp");
    reading.read.push_back(fmt::format("strategy fsdp from --fsdp (line {})", job.launcher.line));
    return;
  }
  const bool is_mpi = job.kind == "MPIJob";
  reading.put("/strategy/preset", is_mpi ? "horovod" : "pytorch-ddp");
  reading.assumed.push_back(is_mpi ? "strategy horovod: an MPIJob whose command says no other "
                                     "(--set /strategy/preset=...)"
                                   : "strategy pytorch-ddp: the command says no other (--set "
                                     "/strategy/preset=...)");
}

void apply_environment(const Job& job, const LaunchLine& line, Reading& reading) {
  auto variables = job.launcher.environment;
  variables.insert(variables.end(), line.exported.begin(), line.exported.end());
  for (const auto& [name, value] : variables)
    if (!apply_variable(name, value, reading) &&
        (name.starts_with("NCCL_") || name.starts_with("HOROVOD_")))
      reading.unused.push_back(name + "=" + value);
}
}  // namespace stepcast::k8s
