#pragma once
#include "sim/import/k8s/job.hpp"
#include "sim/import/k8s/launch_line.hpp"

/// Private to sim/import/k8s: what each part of a job adds to the scenario. Stronger sources come
/// first: `Reading::put` keeps what is there.
namespace stepcast::k8s {
using Flags = std::vector<ProgramFlag>;
/// The last flag of a name; nullptr where it is not given.
const ProgramFlag* find_flag(const Flags& flags, std::string_view name);
/// Its value as a whole number: not a number is a problem, "$NAME" is unknown.
std::optional<std::int64_t> flag_number(const Flags& flags, std::string_view name,
                                        std::int64_t least, int line, Reading& reading);

/// What stepcast export wrote beside the manifest's own fields.
void apply_annotations(const Job& job, Reading& reading);
/// Nodes and GPUs, and the cluster preset nearest to the pods' node labels. Gives the ranks in all.
std::int64_t apply_cluster(const Job& job, const LaunchLine& line, const std::string& wanted,
                           Reading& reading);
bool is_megatron(const LaunchLine& line, const Flags& flags);
void apply_megatron(const Flags& flags, std::int64_t world, int line, Reading& reading);
/// DeepSpeed's configuration, from a ConfigMap of the same file. `world`: ranks in all.
void apply_deepspeed(const Json& config, std::int64_t world, Reading& reading);
/// Flags of Hugging Face's Trainer and of tf_cnn_benchmarks; nccl-tests as a sweep.
void apply_program(const LaunchLine& line, const Flags& flags, std::int64_t world, int pod_line,
                   Reading& reading);
/// True when a collective benchmark was found: there is no training step.
bool apply_nccl_tests(const LaunchLine& line, const Flags& flags, int pod_line, Reading& reading);
/// The model preset that a name in the command means; "" where none does.
std::string model_named(const std::string& text);
void apply_strategy(const Job& job, const LaunchLine& line, const Flags& flags, bool has_deepspeed,
                    Reading& reading);
/// NCCL_*, HOROVOD_* and others that change a step.
void apply_environment(const Job& job, const LaunchLine& line, Reading& reading);
}  // namespace stepcast::k8s
