// Two roads, one answer: the SimGrid engine, the native one and closed forms on whole scenarios,
// from JSON to step.
#include <fmt/format.h>

#include "sim/core/random.hpp"
#include "tests/fidelity/jobs/base_job.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
/// Draws settings; every draw follows from the seed.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : seed_(seed) {}
  template <class T>
  T one_of(std::vector<T> choices) {
    return choices[mixed_bits(seed_, ++counter_) % choices.size()];
  }
  int between(int least, int most) {
    return least + static_cast<int>(mixed_bits(seed_, ++counter_) %
                                    static_cast<std::uint64_t>(most - least + 1));
  }
  bool chance(int percent) { return between(1, 100) <= percent; }

 private:
  std::uint64_t seed_, counter_ = 0;
};

/// A scenario with contention, slow ranks, jitter, pauses and changing links, on 2 to 8 nodes.
Settings random_settings(std::uint64_t seed) {
  Draw draw(seed);
  const int nodes = draw.one_of<int>({2, 4, 8}), world = 8 * nodes;
  const int tp = draw.one_of<int>({1, 2, 4, 8}),
            pp = std::min(draw.one_of<int>({1, 1, 2, 4}), world / tp), dp = world / (tp * pp);
  const std::string schedule =
      pp == 1 ? "1f1b" : draw.one_of<std::string>({"1f1b", "gpipe", "zero-bubble", "interleaved"});
  const int micro_batches = pp * draw.between(1, 2);
  Settings s{fmt::format("/cluster/nodes={}", nodes),
             fmt::format("/parallel/tp={}", tp),
             fmt::format("/parallel/pp={}", pp),
             fmt::format("/training/global_batch={}", dp * micro_batches),
             "/parallel/schedule=" + schedule,
             fmt::format("/run/seed={}", seed),
             fmt::format("/cluster/nic_Gbps={}", draw.one_of<int>({10, 50, 400})),
             fmt::format("/cluster/fabric/nodes_per_leaf={}", draw.one_of<int>({1, 2, 4})),
             fmt::format("/cluster/fabric/oversubscription={}", draw.one_of<int>({1, 4})),
             "/cluster/fabric/routing=" + draw.one_of<std::string>({"adaptive", "hashed"}),
             "/cluster/placement=" + draw.one_of<std::string>({"linear", "random", "strided"}),
             fmt::format("/strategy/bucket_MiB={}", draw.one_of<int>({5, 25, 400}))};
  if (schedule == "interleaved") s.push_back("/parallel/virtual_stages=2");
  if (tp > 1 && draw.chance(50)) s.push_back("/parallel/sequence_parallel=true");
  if (const int zero = draw.one_of<int>({0, 0, 1, 2, 3});
      zero > 0 && dp > 1 && (zero < 3 || schedule == "1f1b"))
    s.push_back(fmt::format("/parallel/zero_stage={}", zero));
  if (draw.chance(40))
    s = s + Settings{"/strategy/host=eager",
                     fmt::format("/strategy/host_scale={}", draw.between(1, 12))};
  std::vector<std::string> slow;
  if (draw.chance(50))
    slow.push_back(fmt::format(R"({{"ranks": "{}", "compute_slowdown": {}}})",
                               draw.between(0, world - 1), 1 + 0.1 * draw.between(1, 9)));
  if (draw.chance(40))
    slow.push_back(fmt::format(R"({{"jitter": {{"sigma": {}}}}})", 0.02 * draw.between(1, 5)));
  if (draw.chance(30))
    slow.push_back(fmt::format(R"({{"ranks": "{}", "pause_ms": {}}})", draw.between(0, world - 1),
                               draw.between(1, 20)));
  if (!slow.empty()) s.push_back("/stragglers=[" + joined(slow, ",") + "]");
  if (draw.chance(40))
    s.push_back(fmt::format(
        R"(/cluster/link_events=[{{"node": {}, "at_s": {}, "capacity_factor": {}}}])",
        draw.between(0, nodes - 1), 0.004 * draw.between(0, 10), 0.1 * draw.between(1, 9)));
  return s;
}
}  // namespace

TEST_CASE("simgrid and native agree on random scenarios in the step and in every category",
          "[engines][fidelity]") {
  const std::uint64_t seed = GENERATE(range(1, 61));
  const Settings settings = random_settings(seed);
  INFO("seed " << seed << ": " << joined(settings, " "));
  const StepOutcome native = forecast(settings, EngineKind::native).outcome,
                    simgrid = forecast(settings, EngineKind::simgrid).outcome;
  REQUIRE(native.step_s > 0);
  REQUIRE(simgrid.step_s == Approx(native.step_s).epsilon(1e-9));
  REQUIRE(simgrid.per_worker.size() == native.per_worker.size());
  for (std::size_t worker = 0; worker < native.per_worker.size(); ++worker)
    for (std::size_t c = 0; c < kCategories; ++c)
      CHECK(std::abs(simgrid.per_worker[worker][c] - native.per_worker[worker][c]) <=
            1e-9 * native.step_s);
  for (std::size_t g = 0; g < kGroupKinds; ++g)
    CHECK(simgrid.payload_bytes[g] == Approx(native.payload_bytes[g]).epsilon(1e-12));
}

TEST_CASE("the analytic engine is within 1 % of the flows where nothing shares a link",
          "[engines][fidelity]") {
  // One group of ranks per port and direction at a time: plain data parallel, tensor groups that
  // fill a node, a pipeline whose stages fill nodes.
  const std::vector<Settings> alone{
      {},
      {"/cluster/nic_Gbps=20"},
      {"/cluster/nodes=8", "/training/global_batch=128", "/cluster/nic_Gbps=50"},
      {"/parallel/tp=8", "/cluster/nic_Gbps=50"},
      {"/parallel/tp=16"},
      {"/parallel/tp=8", "/parallel/pp=2"},
      {"/parallel/tp=8", "/parallel/pp=4", "/cluster/nodes=4"},
      {"/parallel/zero_stage=1"},
      {"/strategy/host=eager", "/strategy/host_scale=10"},
  };
  for (const Settings& settings : alone) {
    INFO(joined(settings, " "));
    CHECK(step_s(settings, EngineKind::analytic) ==
          Approx(step_s(settings, EngineKind::native)).epsilon(0.01));
  }
}

TEST_CASE("explicit ring rounds are within 1 % of persistent flows", "[engines][fidelity]") {
  for (const int nodes : {2, 4, 16})
    for (const int oversubscription : {1, 4})
      for (const Collective collective :
           {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
        Scenario scenario =
            job({fmt::format("/cluster/nodes={}", nodes), "/training/global_batch=128",
                 "/strategy/collective_algorithm=ring", "/cluster/fabric/nodes_per_leaf=4",
                 fmt::format("/cluster/fabric/oversubscription={}", oversubscription)});
        scenario.collective_sweep =
            CollectiveSweep{collective, {Bytes(1 << 16), Bytes(1 << 24), Bytes(1 << 30)}, 0};
        const Profile profile = profile_of(scenario).value_or_throw();
        const std::vector<SweepPoint> flows =
            simulate_collectives(scenario, profile, EngineKind::native);
        scenario.run.message_level_rings = true;
        const std::vector<SweepPoint> rounds =
            simulate_collectives(scenario, profile, EngineKind::native);
        for (std::size_t i = 0; i < flows.size(); ++i) {
          INFO(text_of(collective) << " on " << nodes << " nodes, oversubscription "
                                   << oversubscription << ", " << flows[i].size.value << " B");
          CHECK(rounds[i].time_s == Approx(flows[i].time_s).epsilon(0.01));
        }
      }
}
