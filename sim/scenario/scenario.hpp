#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/cluster_spec.hpp"
#include "sim/collective/collective_model.hpp"
#include "sim/cost/cost_model.hpp"
#include "sim/io/json_fwd.hpp"
#include "sim/scenario/convergence_spec.hpp"
#include "sim/scenario/data_spec.hpp"
#include "sim/scenario/straggler_spec.hpp"
#include "sim/scenario/sync_spec.hpp"
#include "sim/workload/model_spec.hpp"
#include "sim/workload/parallel_layout.hpp"
#include "sim/workload/training_spec.hpp"

namespace stepcast {

enum class Offload { none, optimizer, parameters };
template <>
struct EnumText<Offload> {
  static constexpr std::array<std::pair<Offload, std::string_view>, 3> table{
      {{Offload::none, "none"},
       {Offload::optimizer, "optimizer"},
       {Offload::parameters, "parameters"}}};
};

/// How the framework moves gradients and parameters and issues work. Presets fill it
/// (scenarios/strategies).
struct StrategySpec {
  std::string preset = "megatron";
  std::string framework = "megatron";  // host-cost row of the profile
  HostMode host = HostMode::fused;
  double host_scale = 1;
  Bytes bucket_bytes{40'000'000 * 4};  // gradient bucket; Megatron: max(40M, 1M x dp) elements
  Bytes first_bucket_bytes{0};         // 0: as the others (PyTorch DDP: 1 MiB)
  bool overlap_grad_reduce = true;     // buckets leave while backward runs
  bool overlap_param_gather = false;   // ZeRO-1/2 parameter gather hides behind the next forward
  bool overlap_p2p = true;             // pipeline messages do not block the compute stream
  /// The host waits for each pipeline message before it issues more (Megatron-LM v2 synchronises
  /// the device after its sends and receives), so it cannot run ahead of the GPU across stages.
  bool p2p_blocks_host = false;
  /// The host waits for the GPU before every micro-batch's forward on the stages that load tokens
  /// or labels, where tensor-parallel peers share them (Megatron-LM's broadcast_data reads the
  /// broadcast sizes back): what a backward gained over the host is lost.
  bool batch_blocks_host = false;
  /// The host reads the loss of every micro-batch before it issues its backward, on the last stage.
  bool loss_blocks_host = false;
  double tp_overlap = 0;              // share of tensor-parallel communication hidden behind GEMMs
  int prefetch = 1;                   // FSDP: layers gathered ahead
  bool reshard_after_forward = true;  // FSDP: gather parameters again for backward
  bool blocking_step_end =
      true;  // host synchronises with the GPU each step (gradient norm, loss scale)
  Algorithm collective_algorithm = Algorithm::automatic;
  /// Horovod: tensors that became ready since the last cycle travel together, after a negotiation.
  /// 0: no cycles.
  double cycle_s = 0;
  double negotiation_hop_s = 0;  // one way of one message of the coordination tree
  bool splits_model = true;  // false: every GPU trains the whole model, so tp, pp, cp and ep are 1
  bool spans_nodes = true;   // false: the GPUs of one node only
  bool find_unused_parameters =
      false;  // PyTorch DDP: an all-reduce of a used-parameter map follows the backward
  /// Optimizer state (and parameters) in host memory, updated by the CPU (DeepSpeed ZeRO-Offload).
  Offload offload = Offload::none;
  double cpu_update_parameters_per_s =
      0;  // of a node's CPUs; 0: the default of sim/graph/offload.hpp
};

enum class CompressionScheme { none, fp16, bf16, int8, fp8, onebit, topk, randomk, powersgd, dgc };
template <>
struct EnumText<CompressionScheme> {
  static constexpr std::array<std::pair<CompressionScheme, std::string_view>, 10> table{
      {{CompressionScheme::none, "none"},
       {CompressionScheme::fp16, "fp16"},
       {CompressionScheme::bf16, "bf16"},
       {CompressionScheme::int8, "int8"},
       {CompressionScheme::fp8, "fp8"},
       {CompressionScheme::onebit, "onebit"},
       {CompressionScheme::topk, "topk"},
       {CompressionScheme::randomk, "randomk"},
       {CompressionScheme::powersgd, "powersgd"},
       {CompressionScheme::dgc, "dgc"}}};
};
struct CompressionSpec {
  CompressionScheme scheme = CompressionScheme::none;
  double ratio = 0.01;         // share kept: topk, randomk, dgc (0.001 there)
  int rank = 4;                // powersgd
  bool error_feedback = true;  // what was dropped is added to the next gradient
  bool two_level = false;      // full precision inside a node, compressed between nodes
  int warmup_steps = 0;        // dgc: the share falls from 25 % to `ratio` over so many steps
};

struct RunSpec {
  int steps = 1;
  std::uint64_t seed = 1;
  int runs = 1;
  bool fold = true;
  bool message_level_rings = false;
};
/// A bare collective sweep instead of a training step.
struct CollectiveSweep {
  Collective collective = Collective::all_reduce;
  std::vector<Bytes> sizes;
  int gpus_per_node = 0;
};

struct Scenario {
  std::string file, name;
  ModelSpec model;
  TrainingSpec training;
  ParallelLayout parallel;
  StrategySpec strategy;
  CompressionSpec compression;
  std::vector<StragglerSpec> stragglers;
  MitigationSpec mitigation;
  SyncSpec sync;
  ConvergenceSpec converge;
  std::optional<DataSpec> data;  // none: every batch is there when it is asked for
  ClusterSpec cluster;
  std::string profile;  // name in scenarios/profiles or a path; "" = the GPU's bundled profile
  RunSpec run;
  std::optional<CollectiveSweep> collective_sweep;
  std::vector<std::string> notes;  // defaults that were filled in, for the report
  std::vector<std::string>
      unused;  // keys that the user wrote and nothing in this scenario reads, one sentence each
};

/// Folder with models/ clusters/ profiles/ strategies/: $STEPCAST_SCENARIOS, else next to the
/// binary's install, else the source tree.
std::string scenarios_folder();
/// Names of the bundled "models", "clusters", "strategies", "profiles", "storage" or "jobs",
/// sorted; and the file of one of them.
std::vector<std::string> preset_names(const std::string& kind);
std::string preset_path(const std::string& kind, const std::string& name);

/// Loads, merges presets and "include"s, applies --set, reads, checks the layout. All problems at
/// once.
Result<Scenario> load_scenario(const std::string& path,
                               const std::vector<std::string>& settings = {});
Result<Scenario> scenario_of(Json document, const std::string& file);
/// The profile that the scenario names (or the cluster's GPU implies).
Result<Profile> profile_of(const Scenario& scenario);
}  // namespace stepcast
