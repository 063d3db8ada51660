#include <filesystem>

#include "sim/cluster/cluster_spec.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/io/json.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

TEST_CASE("every bundled cluster reads without a problem and builds its network", "[cluster]") {
  int seen = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(test::source_dir() + "/scenarios/clusters")) {
    if (entry.path().extension() != ".json") continue;
    ++seen;
    const auto json = read_json_file(entry.path().string());
    REQUIRE(json);
    Problems problems;
    const ClusterSpec cluster =
        read_cluster(ObjectReader(*json, entry.path().filename().string(), "", problems));
    INFO(problems.text());
    REQUIRE(problems.empty());
    REQUIRE(cluster.name == entry.path().stem().string());
    REQUIRE_FALSE(json->value("source", "").empty());
    REQUIRE(make_topology(cluster)->links().size() >=
            2 * static_cast<std::size_t>(cluster.nodes()));
  }
  REQUIRE(seen >= 25);
}
