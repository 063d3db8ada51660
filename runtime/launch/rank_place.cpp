#include "runtime/launch/rank_place.hpp"

#include <charconv>
#include <cstdlib>

namespace stepcast::runtime {
namespace {
struct Launcher {
  const char *name, *rank, *size, *local_rank, *address;
};
constexpr Launcher kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR"},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_LAUNCH_NODE_IPADDR"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "MASTER_ADDR"},
    {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MASTER_ADDR"},
};

std::optional<int> number(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class Reader {
 public:
  explicit Reader(const Environment& environment) : environment_(environment) {}
  int integer(const char* name, int fallback, int low, int high) {
    const auto text = environment_(name);
    if (!text) return fallback;
    const auto value = number(*text);
    if (value && *value >= low && *value <= high) return *value;
    problem(name, "\"" + *text + "\" is no whole number from " + std::to_string(low) + " to " +
                      std::to_string(high));
    return fallback;
  }
  void problem(const char* name, std::string message, std::string hint = "") {
    problems.add({"environment", name, std::move(message), std::move(hint)});
  }
  Problems problems;

 private:
  const Environment& environment_;
};
}  // namespace

std::optional<std::string> process_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Result<RankPlace> rank_place(const Environment& environment) {
  Reader reader(environment);
  RankPlace place;
  place.source = "one rank";
  for (const Launcher& launcher : kLaunchers) {
    const bool has_rank = environment(launcher.rank).has_value(),
               has_size = environment(launcher.size).has_value();
    // A Slurm allocation without srun sets SLURM_NTASKS alone: that is no rank.
    if (!has_rank) continue;
    if (!has_size) {
      reader.problem(launcher.rank, std::string("is set, but ") + launcher.size + " is not",
                     "set both, or neither");
      break;
    }
    constexpr int kMostRanks = 1 << 20;
    place.source = launcher.name;
    place.size = reader.integer(launcher.size, 1, 1, kMostRanks);
    place.rank = reader.integer(launcher.rank, 0, 0, kMostRanks);
    place.local_rank = reader.integer(launcher.local_rank, 0, 0, kMostRanks);
    if (place.rank >= place.size)
      reader.problem(launcher.rank, std::to_string(place.rank) + " is not below " + launcher.size +
                                        " = " + std::to_string(place.size));
    place.port = place.size > 1 ? kDefaultPort : 0;
    if (const auto address = environment(launcher.address)) place.address = *address;
    break;
  }
  if (const auto address = environment("MASTER_ADDR")) place.address = *address;
  if (place.size > 1) place.port = reader.integer("MASTER_PORT", kDefaultPort, 1, 65535);
  if (!reader.problems.empty()) return reader.problems;
  return place;
}
}  // namespace stepcast::runtime
