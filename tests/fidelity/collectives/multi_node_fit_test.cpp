#include <iostream>
#include <map>

#include "calibrate/tables/collective_tables.hpp"
#include "calibrate/tables/fabric_fits.hpp"
#include "tests/fidelity/collectives/errors.hpp"
#include "tests/fidelity/import/shared_data.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

TEST_CASE("one set of parameters per transport follows all its good multi-node runs",
          "[fidelity][collective]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  const std::vector<FabricFit> fabrics = fit_fabrics(data);
  std::map<std::string, CollectiveProfile> profiles;
  std::map<std::string, ErrorSummary> large, small;
  for (const MultiNodeRun& run : multi_node_runs(data)) {
    if (!profiles.contains(run.gpu))
      profiles[run.gpu] = fit_one_node_collectives(run.gpu, data, nullptr);
    CollectiveProfile& profile = profiles[run.gpu];
    profile.fabrics = fabrics;
    const CollectiveModel model(profile, run.node, fabric_of(run));
    const BytesPerSecond port = run.node.nic_bandwidth * static_cast<double>(run.node.nics);
    ErrorSummary errors;
    for (const auto& [bytes, seconds] : run.points) {
      const double time =
          model
              .uncontended_time(run.collective, Bytes(static_cast<std::int64_t>(bytes)), run.shape,
                                port)
              .value;
      errors.add(time, seconds);
      (bytes >= 1048576 ? large : small)[family_of(run.transport)].add(time, seconds);
    }
    std::cout << run.id << ": " << errors.text() << '\n';
  }
  for (const auto& [transport, errors] : large)
    std::cout << transport << " from 1 MiB: " << errors.text() << '\n';
  for (const auto& [transport, errors] : small)
    std::cout << transport << " under 1 MiB: " << errors.text() << '\n';
  CHECK(large.at("infiniband").absolute(0.5) <= 0.05);
  CHECK(small.at("infiniband").absolute(0.5) <= 0.15);
  CHECK(large.at("efa").absolute(0.5) <= 0.10);
  CHECK(large.at("roce").absolute(0.5) <= 0.05);
  CHECK(large.at("slingshot").absolute(0.5) <= 0.05);
}
