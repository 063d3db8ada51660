#include <algorithm>

#include "sim/engine/lowering/lowering.hpp"
#include "tests/sim/engine/lowering/small_cluster.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
Job job_of(const Scenario& scenario) {
  const ModelWork work = model_work(scenario.model, scenario.training, scenario.parallel);
  return lower(scenario, build_step_graph(scenario, work), work, small_profile());
}
const Group* group_of(const Job& job, GroupKind kind) {
  for (const Group& group : job.groups)
    if (group.kind == kind) return &group;
  return nullptr;
}
std::vector<double> capacities(const Job& job, const Edge& edge) {
  std::vector<double> rates;
  for (LinkId link : edge.route) rates.push_back(job.links[link].capacity.value);
  return rates;
}
}  // namespace

TEST_CASE("a group with a node's every GPU may use all of its NICs", "[lowering]") {
  ParallelLayout layout;
  layout.tp = 8;
  layout.dp = 0;
  Scenario scenario = small_scenario(4, layout);
  scenario.run.fold = false;
  const Job job = job_of(scenario);
  const Group& group = *group_of(job, GroupKind::dp);
  REQUIRE(group.workers.size() == 4);
  REQUIRE(group.edges.size() == 4);
  for (const Edge& edge : group.edges)
    for (double rate : capacities(job, edge)) REQUIRE(rate >= 8 * 25e9);
}

TEST_CASE("a group with half of a node's GPUs is kept to half of its NICs", "[lowering]") {
  // tp 4, two stages side by side on each node (pp before dp): each stage's data-parallel group has
  // 4 GPUs per node.
  ParallelLayout layout;
  layout.tp = 4;
  layout.pp = 2;
  layout.dp = 4;
  layout.rank_order = {Axis::tp, Axis::cp, Axis::pp, Axis::dp};
  Scenario scenario = small_scenario(4, layout);
  scenario.run.fold = false;
  const Job job = job_of(scenario);
  const Group& group = *group_of(job, GroupKind::dp);
  for (const Edge& edge : group.edges) {
    const std::vector<double> rates = capacities(job, edge);
    REQUIRE(*std::min_element(rates.begin(), rates.end()) == 4 * 25e9);
  }
}

TEST_CASE("a tensor group inside a node is part of its segments and one across nodes is a transfer",
          "[lowering]") {
  ParallelLayout layout;
  layout.tp = 8;
  const Job inside = job_of(small_scenario(1, layout));
  REQUIRE(inside.programs[0].lanes[static_cast<std::size_t>(Lane::compute)].size() < 40);
  const Segment& forward = inside.programs[0].segments[0];
  REQUIRE(forward.by_category[static_cast<std::size_t>(Category::exposed_tp)] > 0);
  REQUIRE(forward.fixed > 0);

  layout.tp = 16;
  const Job across = job_of(small_scenario(2, layout));
  const auto& lane = across.programs[0].lanes[static_cast<std::size_t>(Lane::compute)];
  const auto transfers = std::count_if(lane.begin(), lane.end(), [](const ProgramOp& op) {
    return op.kind == GraphOp::Kind::collective && op.category == Category::exposed_tp;
  });
  REQUIRE(transfers > 0);
  const Group& group = *group_of(across, GroupKind::tp);
  REQUIRE(group.workers == std::vector<std::uint32_t>{0});
  REQUIRE(group.edges.size() == 2);
}

TEST_CASE("ring attention across nodes runs its exchanges beside the attention", "[lowering]") {
  ParallelLayout layout;
  layout.cp = 16;
  const Job job = job_of(small_scenario(2, layout));
  const auto& beside = job.programs[0].lanes[static_cast<std::size_t>(Lane::gather)];
  REQUIRE(!beside.empty());
  for (const ProgramOp& op : beside) REQUIRE(op.category == Category::exposed_cp);
}

TEST_CASE("a straggler slows the block of its rank alone", "[lowering]") {
  ParallelLayout layout;
  layout.tp = 8;
  layout.dp = 0;
  Scenario scenario = small_scenario(4, layout);
  scenario.stragglers = {{{{17, 17}}, "", 1.3, 0, 0.5}};
  const Job job = job_of(scenario);
  REQUIRE(job.workers.size() == 4);
  for (const Worker& worker : job.workers) {
    REQUIRE(worker.slowdown == (worker.replica == 2 ? 1.3 : 1.0));
    REQUIRE(worker.pause == (worker.replica == 2 ? 0.5 : 0.0));
  }
}

TEST_CASE("a straggler of one op stretches that op", "[lowering]") {
  ParallelLayout layout;
  layout.tp = 8;
  Scenario scenario = small_scenario(1, layout);
  const double plain = job_of(scenario).programs[0].segments[0].scaled;
  scenario.stragglers = {{{}, "mlp_up", 2.0, 0, 0}};
  const Job slow = job_of(scenario);
  REQUIRE(slow.workers[0].slowdown == 1);
  REQUIRE(slow.programs[0].segments[0].scaled > plain);
}

TEST_CASE("equal workers share one program", "[lowering]") {
  ParallelLayout layout;
  layout.tp = 8;
  layout.pp = 2;
  layout.dp = 0;
  Scenario scenario = small_scenario(16, layout);
  scenario.run.fold = false;
  const Job job = job_of(scenario);
  REQUIRE(job.workers.size() == 16);
  REQUIRE(job.programs.size() <= 4);  // two stages; messages of one or three hops
}
