// What is sent is what the formulas say, and what is sent is received.
#include <map>

#include "sim/engine/simulate.hpp"
#include "sim/graph/step_graph.hpp"
#include "tests/fidelity/conservation/layout_kinds.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
double payload(const Forecast& f, GroupKind kind) {
  return f.outcome.payload_bytes[static_cast<std::size_t>(kind)];
}
/// Parameters of one rank, all layers of a pipeline of one stage.
double rank_parameters(const Forecast& f) {
  double sum = 0;
  for (const std::vector<int>& kinds : {f.work.before, f.work.blocks, f.work.after})
    for (int kind : kinds)
      sum += static_cast<double>(f.work.kinds[static_cast<std::size_t>(kind)].dense_parameters);
  return sum;
}

struct Wire {
  double tx = 0, rx = 0,
         worst = 0;  // bytes over all ports, and the busiest link's share of capacity x step
};
/// Runs the lowered job on a network that can be asked afterwards.
Wire wire_of(const Scenario& scenario) {
  const Profile profile = profile_of(scenario).value_or_throw();
  const ModelWork work = model_work(scenario.model, scenario.training, scenario.parallel);
  const Job job = lower(scenario, build_step_graph(scenario, work), work, profile);
  const auto network = make_network(EngineKind::native);
  const StepOutcome outcome = execute_step(job, *network);
  const std::unique_ptr<Topology> topology = make_topology(scenario.cluster);
  std::map<std::string, bool> is_tx;  // of the ports, by name
  for (int node = 0; node < scenario.cluster.nodes(); ++node) {
    is_tx[topology->links()[topology->tx_port(node)].name] = true;
    is_tx[topology->links()[topology->rx_port(node)].name] = false;
  }
  Wire wire;
  for (std::size_t link = 0; link < job.links.size(); ++link) {
    const double bytes = network->bytes_carried(static_cast<LinkId>(link));
    wire.worst = std::max(wire.worst, bytes / (job.links[link].capacity.value * outcome.step_s));
    if (const auto port = is_tx.find(job.links[link].name); port != is_tx.end())
      (port->second ? wire.tx : wire.rx) += bytes;
  }
  return wire;
}
}  // namespace

TEST_CASE(
    "bytes that leave the nodes are the bytes that reach them and no link carries more than it can",
    "[conservation][fidelity]") {
  for (const LayoutKind& kind : layout_kinds()) {
    Scenario scenario = job(kind.settings + Settings{"/cluster/nic_Gbps=40"});
    scenario.run.fold = false;
    const Wire wire = wire_of(scenario);
    INFO(kind.name);
    CHECK(wire.tx == Approx(wire.rx).epsilon(1e-9));
    CHECK(wire.worst <= 1 + 1e-9);
  }
}

TEST_CASE("a thin fabric is never overrun", "[conservation][fidelity]") {
  for (const char* routing : {"adaptive", "hashed"}) {
    Scenario scenario =
        job({"/cluster/nodes=16", "/training/global_batch=128", "/cluster/nic_Gbps=20",
             "/cluster/fabric/nodes_per_leaf=4", "/cluster/fabric/oversubscription=4",
             "/cluster/placement=random", std::string("/cluster/fabric/routing=") + routing});
    const Wire wire = wire_of(scenario);
    INFO(routing);
    CHECK(wire.worst <= 1 + 1e-9);
    CHECK(wire.worst > 0.5);  // the uplinks are the bottleneck for most of the step
  }
}

TEST_CASE("data parallel gradients cross each node's port as often as the formula says",
          "[conservation][fidelity]") {
  // tp rings of n = dp ranks each; a ring leaves each of the N nodes once, with 2 (n-1)/n S, S = 4
  // B x parameters of a rank.
  for (const int nodes : {2, 4, 8})
    for (const int tp : {1, 2, 8}) {
      const Settings settings{"/cluster/nodes=" + std::to_string(nodes),
                              "/parallel/tp=" + std::to_string(tp), "/training/global_batch=128",
                              "/strategy/collective_algorithm=ring"};
      const Forecast f = forecast(settings);
      INFO(nodes << " nodes, tp " << tp);
      const double n = 8.0 * nodes / tp;
      CHECK(payload(f, GroupKind::dp) ==
            Approx(nodes * tp * 2 * (n - 1) / n * 4 * rank_parameters(f)).epsilon(1e-6));
    }
}

TEST_CASE("zero 3 gathers twice and scatters once", "[conservation][fidelity]") {
  // A ring of 16 ranks leaves both nodes once, with 15/16 of the buffer. Parameters travel in 2
  // bytes, twice; gradients in 4, once: 2 x 15/16 x (2 x 2 + 4) x parameters in one micro-batch.
  const Forecast f = forecast(Settings{"/parallel/zero_stage=3", "/training/global_batch=16"});
  CHECK(payload(f, GroupKind::dp) == Approx(15 * rank_parameters(f)).epsilon(1e-3));
}

TEST_CASE("pipeline messages are the activations of every micro-batch both ways",
          "[conservation][fidelity]") {
  // tp 8 fills a node, pp 2: the 8 ranks together send one copy of micro_batch x 2048 x 2048 x 2 B
  // forward and as much back, 64 times.
  const Forecast f =
      forecast(Settings{"/parallel/tp=8", "/parallel/pp=2", "/training/global_batch=64"});
  CHECK(payload(f, GroupKind::pp) == Approx(2.0 * 64 * 2048 * 2048 * 2).epsilon(1e-9));
}

TEST_CASE("tensor parallel all-reduces over two nodes are the formula",
          "[conservation][fidelity]") {
  // Per block two all-reduces forward and two backward of S = 2048 x 2048 x 2 B over 16 ranks, one
  // after the embedding, one before the head's backward; a ring leaves both nodes once, with 2 x
  // 15/16 S. The loss adds two floats per token (0.01 %).
  const Forecast f = forecast(Settings{"/parallel/tp=16", "/training/global_batch=4",
                                       "/strategy/collective_algorithm=ring"});
  const double buffer = 2048.0 * 2048 * 2;
  CHECK(payload(f, GroupKind::tp) ==
        Approx(4 * (8 * 4 + 2) * 2 * (2 * 15.0 / 16) * buffer).epsilon(1e-3));
}

TEST_CASE("expert parallel tokens over two nodes are the formula", "[conservation][fidelity]") {
  // All-to-all over 16 ranks: each node's 8 ranks send S (16-8)/16 each, S = 2048 tokens x 2
  // experts x 2048 x 2 B, four times per block and micro-batch (dispatch and combine, forward and
  // backward).
  const Forecast f = forecast(mixture() + Settings{"/model/moe/experts=16", "/parallel/ep=16",
                                                   "/training/global_batch=16"});
  const double buffer = 2048.0 * 2 * 2048 * 2;
  CHECK(payload(f, GroupKind::ep) == Approx(2 * 8 * buffer * 0.5 * 4 * 8).epsilon(1e-6));
}
