#include <unistd.h>

#include <filesystem>

#include "calibrate/tables/table_set.hpp"
#include "calibrate/tables/targets.hpp"
#include "sim/io/files.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() /
                               ("stepcast_table_set_test_" + std::to_string(getpid()));
  Folder() {
    write_file((path / "kernels/SOURCES.csv").string(),
               "gpu_folder,file,source,licence\nx1,open.csv,someone @ 1,MIT\nx1,closed.csv,someone "
               "@ 2,GPL-3.0\n");
    write_file((path / "kernels/x1/open.csv").string(), "m,time_us\n1,2\n");
    write_file((path / "kernels/x1/closed.csv").string(), "m,time_us\n1,2\n");
    write_file((path / "kernels/x1/unknown.csv").string(), "m,time_us\n1,2\n");
  }
  ~Folder() { std::filesystem::remove_all(path); }
};
}  // namespace

TEST_CASE("only tables under a licence that allows shipping are read into profiles",
          "[calibrate]") {
  const Folder folder;
  TableSet tables = TableSet::open(folder.path.string()).value_or_throw();
  REQUIRE(tables.has_shippable("x1", "open.csv"));
  REQUIRE_FALSE(tables.has_shippable("x1", "closed.csv"));
  REQUIRE_FALSE(tables.has_shippable("x1", "unknown.csv"));
  REQUIRE_FALSE(tables.has_shippable("x1", "missing.csv"));
  REQUIRE_THROWS_WITH(tables.kernels("x1", "closed.csv"), Catch::Contains("GPL-3.0"));
}

TEST_CASE("every table that was read is cited once with its licence", "[calibrate]") {
  const Folder folder;
  TableSet tables = TableSet::open(folder.path.string()).value_or_throw();
  REQUIRE(tables.kernels("x1", "open.csv").rows() == 1);
  tables.kernels("x1", "open.csv");
  REQUIRE(tables.take_citations() == std::vector<std::string>{"x1/open.csv: someone @ 1 (MIT)"});
  REQUIRE(tables.take_citations().empty());
}

TEST_CASE("a folder without sources is refused", "[calibrate]") {
  REQUIRE_FALSE(TableSet::open("/nonexistent"));
}

TEST_CASE("every profile target and every folder it names has a datasheet", "[calibrate]") {
  for (const ProfileTarget& target : profile_targets()) {
    REQUIRE(catalogued_gpu(target.name).memory_bandwidth.value > 0);
    for (const std::string& folder : target.folders)
      REQUIRE(catalogued_gpu(gpu_of_folder(folder)).memory_bandwidth.value > 0);
  }
}
