#pragma once
#include <functional>
#include <optional>
#include <string>

#include "sim/core/result.hpp"

namespace stepcast::runtime {
/// Who this process is among the ranks of a run, and where rank 0 serves the store.
struct RankPlace {
  int rank = 0, size = 1;
  int local_rank = 0;
  std::string address = "127.0.0.1";
  int port = 0;        // 0: one rank, no store needed
  std::string source;  // "torchrun", "Slurm", "Open MPI", "PMI", "one rank"
};
/// Reads one variable; nullopt where unset.
using Environment = std::function<std::optional<std::string>(const std::string&)>;

/// In this order: RANK and WORLD_SIZE (torchrun, our own --ranks); SLURM_PROCID and SLURM_NTASKS
/// inside a job step; OMPI_COMM_WORLD_RANK and _SIZE; PMI_RANK and PMI_SIZE (MPICH, hydra).
/// MASTER_ADDR and MASTER_PORT hold for all of them; Slurm gives the address itself
/// (SLURM_LAUNCH_NODE_IPADDR), and the port falls back to kDefaultPort. Problems: half of a pair,
/// no number, rank >= size, several nodes without an address.
Result<RankPlace> rank_place(const Environment& environment);
inline constexpr int kDefaultPort = 29500;  // PyTorch's
/// The process's own environment.
std::optional<std::string> process_environment(const std::string& name);
}  // namespace stepcast::runtime
