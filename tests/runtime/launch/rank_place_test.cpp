#include "runtime/launch/rank_place.hpp"

#include <map>

#include "tests/support/test.hpp"

namespace stepcast::runtime::test {
namespace {
Result<RankPlace> placed(std::map<std::string, std::string> variables) {
  return rank_place([variables = std::move(variables)](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  });
}
}  // namespace

TEST_CASE("without launcher variables there is one rank and no store", "[runtime][launch]") {
  const auto place = placed({});
  REQUIRE(place);
  REQUIRE((place->rank == 0 && place->size == 1 && place->port == 0));
  // salloc without srun: a size, but no rank.
  REQUIRE(placed({{"SLURM_NTASKS", "8"}})->size == 1);
}
TEST_CASE("torchrun and srun and mpirun and hydra say who a process is", "[runtime][launch]") {
  const auto torch = placed({{"RANK", "9"},
                             {"WORLD_SIZE", "16"},
                             {"LOCAL_RANK", "1"},
                             {"MASTER_ADDR", "node0"},
                             {"MASTER_PORT", "1234"}});
  REQUIRE((torch->rank == 9 && torch->size == 16 && torch->local_rank == 1 &&
           torch->address == "node0" && torch->port == 1234));
  const auto slurm = placed({{"SLURM_PROCID", "3"},
                             {"SLURM_NTASKS", "4"},
                             {"SLURM_LOCALID", "3"},
                             {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.7"}});
  REQUIRE((slurm->rank == 3 && slurm->size == 4 && slurm->address == "10.0.0.7" &&
           slurm->port == kDefaultPort && slurm->source == "Slurm"));
  const auto mpi = placed({{"OMPI_COMM_WORLD_RANK", "1"},
                           {"OMPI_COMM_WORLD_SIZE", "2"},
                           {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}});
  REQUIRE((mpi->rank == 1 && mpi->size == 2 && mpi->local_rank == 1 && mpi->source == "Open MPI"));
  REQUIRE(placed({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}})->rank == 1);
  // A launcher inside another's allocation: the inner one's variables win.
  REQUIRE(placed({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "8"}})
              ->size == 2);
}
TEST_CASE("half a pair and letters and ranks beyond the size are refused with the variable's name",
          "[runtime][launch]") {
  REQUIRE_THAT(placed({{"RANK", "1"}}).problems().text(),
               Catch::Contains("RANK: is set, but WORLD_SIZE is not"));
  REQUIRE_THAT(placed({{"RANK", "one"}, {"WORLD_SIZE", "2"}}).problems().text(),
               Catch::Contains("\"one\" is no whole number"));
  REQUIRE_THAT(placed({{"RANK", "2"}, {"WORLD_SIZE", "2"}}).problems().text(),
               Catch::Contains("2 is not below WORLD_SIZE = 2"));
  REQUIRE_THAT(
      placed({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "99999"}}).problems().text(),
      Catch::Contains("MASTER_PORT"));
}
}  // namespace stepcast::runtime::test
