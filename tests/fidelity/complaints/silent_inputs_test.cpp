// "I changed an input and nothing changed": what users of simulators complain about most, one test
// per public report.
#include "tests/fidelity/jobs/base_job.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
double collective_s(const Settings& settings, Collective collective, std::int64_t bytes) {
  Scenario scenario = job(settings);
  scenario.collective_sweep = CollectiveSweep{collective, {Bytes(bytes)}, 0};
  return simulate_collectives(scenario, profile_of(scenario).value_or_throw(), EngineKind::native)
      .front()
      .time_s;
}
std::string problems_of(const Settings& settings) {
  const Result<Scenario> scenario = try_job(settings);
  return scenario ? std::string() : scenario.problems().text();
}
}  // namespace

TEST_CASE("topologies of the same size differ", "[complaints][fidelity]") {  // astra-sim#207
  const Settings nodes{"/cluster/nodes=8", "/training/global_batch=64", "/cluster/placement=random",
                       "/cluster/nic_Gbps=20"};
  const auto step = [&](const Settings& fabric) { return step_s(nodes + fabric); };
  const double fat_tree =
      step({"/cluster/fabric/kind=fat-tree", "/cluster/fabric/nodes_per_leaf=2"});
  const double thin = step({"/cluster/fabric/kind=fat-tree", "/cluster/fabric/nodes_per_leaf=2",
                            "/cluster/fabric/oversubscription=2"});
  const double torus = step({"/cluster/fabric/kind=torus", "/cluster/fabric/torus_shape=[2, 4]"});
  CHECK(thin > 1.1 * fat_tree);
  CHECK(torus > 1.1 * fat_tree);  // a ring of random places shares a torus' links
  // Eight nodes and sixty-four: more steps, and (n-1)/n more bytes.
  CHECK(collective_s({"/cluster/nodes=64", "/training/global_batch=512"}, Collective::all_reduce,
                     1 << 16) >
        1.1 * collective_s({"/cluster/nodes=8", "/training/global_batch=64"},
                           Collective::all_reduce, 1 << 16));
}

TEST_CASE("twice the GPUs change an all-reduce", "[complaints][fidelity]") {  // aliyun/SimAI#208
  for (const std::int64_t bytes : {std::int64_t{1} << 16, std::int64_t{1} << 30}) {
    const double four = collective_s({"/cluster/nodes=4", "/training/global_batch=64"},
                                     Collective::all_reduce, bytes);
    const double eight = collective_s({"/cluster/nodes=8", "/training/global_batch=64"},
                                      Collective::all_reduce, bytes);
    CHECK(eight > 1.01 * four);
  }
}

TEST_CASE("transports differ", "[complaints][fidelity]") {  // aliyun/SimAI#145
  const auto time = [](const char* transport) {
    return collective_s({std::string("/cluster/fabric/transport=") + transport},
                        Collective::all_reduce, 1 << 26);
  };
  CHECK(time("infiniband") != time("efa"));
  CHECK(time("tcp") > time("infiniband"));
}

TEST_CASE("a ring all-reduce follows the network's bandwidth",
          "[complaints][fidelity]") {  // simgrid#338, simgrid#81, simgrid#341
  // 1 GiB over 2 or 16 nodes: all wire. A half as fast NIC takes twice as long, and 16 nodes are
  // not cheaper than 2.
  for (const int nodes : {2, 16}) {
    const Settings base{"/cluster/nodes=" + std::to_string(nodes), "/training/global_batch=128",
                        "/strategy/collective_algorithm=ring"};
    const double fast = collective_s(base + Settings{"/cluster/nic_Gbps=100"},
                                     Collective::all_reduce, std::int64_t{1} << 30);
    const double slow = collective_s(base + Settings{"/cluster/nic_Gbps=50"},
                                     Collective::all_reduce, std::int64_t{1} << 30);
    CHECK(slow / fast == Approx(2).epsilon(0.05));
    // 2 (n-1)/n x 1 GiB over 8 x 12.5 GB/s, at the 60 to 100 % that fitted fabrics reach.
    const double wire = 2.0 * (8 * nodes - 1) / (8 * nodes) * 1073741824.0 / 100e9;
    CHECK(fast >= wire);
    CHECK(fast <= wire / 0.6);
  }
}

TEST_CASE("a misspelt or unit-less key is refused and never ignored",
          "[complaints][fidelity]") {  // aliyun/SimAI PR#294
  CHECK_THAT(problems_of({"/cluster/nic_gbps=100"}),
             Catch::Contains("nic_gbps: is not a known key; did you mean"));
  CHECK_THAT(problems_of({"/cluster/bandwidth=100"}), Catch::Contains("/cluster/bandwidth"));
  CHECK_THAT(problems_of({"/cluster/fabric/hop_latency=3"}), Catch::Contains("hop_latency_us"));
  CHECK_THAT(problems_of({"/training/microbatch=3"}), Catch::Contains("micro_batch"));
}
