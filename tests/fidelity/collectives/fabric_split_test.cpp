#include <iostream>
#include <map>
#include <numeric>
#include <set>

#include "calibrate/tables/collective_tables.hpp"
#include "calibrate/tables/fabric_fits.hpp"
#include "tests/fidelity/collectives/errors.hpp"
#include "tests/fidelity/import/shared_data.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
constexpr double kLarge_B = 1048576;  // what training sends

/// Errors, by transport and from 1 MiB up, on the points that the fit was not given.
std::map<std::string, ErrorSummary> errors_left_aside(const std::string& data,
                                                      const RunFilter& is_used) {
  const std::vector<FabricFit> fabrics = fit_fabrics(data, is_used);
  std::map<std::string, CollectiveProfile> profiles;
  std::map<std::string, ErrorSummary> errors;
  for (const MultiNodeRun& run : multi_node_runs(data)) {
    if (!profiles.contains(run.gpu))
      profiles[run.gpu] = fit_one_node_collectives(run.gpu, data, nullptr);
    profiles[run.gpu].fabrics = fabrics;
    const CollectiveModel model(profiles[run.gpu], run.node, fabric_of(run));
    const BytesPerSecond port = run.node.nic_bandwidth * static_cast<double>(run.node.nics);
    for (const auto& [bytes, seconds] : run.points)
      if (bytes >= kLarge_B && !is_used(run, bytes))
        errors[family_of(run.transport)].add(
            model
                .uncontended_time(run.collective, Bytes(static_cast<std::int64_t>(bytes)),
                                  run.shape, port)
                .value,
            seconds);
  }
  for (const auto& [transport, summary] : errors)
    std::cout << transport << ": " << summary.text() << '\n';
  return errors;
}
}  // namespace

TEST_CASE("fabrics fitted to two-node runs predict eight and more nodes",
          "[fidelity][collective]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  const auto errors =
      errors_left_aside(data, [](const MultiNodeRun& run, double) { return run.shape.nodes == 2; });
  REQUIRE(errors.contains("slingshot"));
  REQUIRE(errors.at("slingshot").errors.size() > 50);
  CHECK(errors.at("slingshot").absolute(0.5) <= 0.15);
}

TEST_CASE("fabrics fitted to one half of the runs by a hash of their names predict the other",
          "[fidelity][collective]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  const auto errors = errors_left_aside(data, [](const MultiNodeRun& run, double) {
    return std::accumulate(run.id.begin(), run.id.end(), 0) % 2 == 0;
  });
  REQUIRE(errors.at("slingshot").errors.size() > 50);
  CHECK(errors.at("slingshot").absolute(0.5) <= 0.08);
}

TEST_CASE("fabrics fitted to every second size predict the others", "[fidelity][collective]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  const auto is_even = [](const MultiNodeRun&, double bytes) {
    return static_cast<int>(std::log2(bytes) + 0.5) % 2 == 0;
  };
  const auto errors = errors_left_aside(data, is_even);
  CHECK(errors.at("infiniband").absolute(0.5) <= 0.055);
  CHECK(errors.at("efa").absolute(0.5) <= 0.10);
  CHECK(errors.at("slingshot").absolute(0.5) <= 0.08);
}
