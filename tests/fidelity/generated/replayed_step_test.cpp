// A simulated step written as a workload is that step when replayed, and moves as it does.
#include <fstream>
#include <iterator>

#include "sim/import/generated/step_workload.hpp"
#include "sim/import/replay/replay.hpp"
#include "sim/import/replay/what_if.hpp"
#include "tests/fidelity/conservation/layout_kinds.hpp"
#include "tests/support/temp_path.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;

namespace {
struct Written {
  double simulated_s = 0;
  Workload workload;  // as read back from its file
  std::string text;
};
Written written(const Settings& settings) {
  const Scenario scenario = job(settings);
  const Profile profile = profile_of(scenario).value_or_throw();
  const TempPath file("generated.workload.json");
  Written out;
  SimulateOptions options;
  options.engine = EngineKind::native;
  options.on_first_step = [&](const Job& step, const StepOutcome& outcome) {
    out.simulated_s = outcome.step_s;
    write_workload(workload_of_step(step, outcome, profile, options.engine), file.path);
  };
  simulate(scenario, profile, options);
  std::ifstream in(file.path);
  out.text.assign(std::istreambuf_iterator<char>(in), {});
  out.workload = read_workload(file.path).value_or_throw();
  return out;
}
double replayed_s(const Workload& workload) { return replay(workload).step_s.at(0); }
}  // namespace

TEST_CASE("every kind of layout replays as it was simulated", "[fidelity][generated]") {
  for (const LayoutKind& kind : layout_kinds())
    for (const char* fold : {"/run/fold=true", "/run/fold=false"}) {
      const Written w = written(kind.settings + Settings{fold});
      INFO(kind.name << ", " << fold);
      REQUIRE(w.simulated_s > 0);
      // The file keeps picoseconds; a few thousand ops in a row lose less than 1e-8 of a step.
      CHECK(replayed_s(w.workload) == Approx(w.simulated_s).epsilon(1e-8));
      CHECK(w.workload.steps.at(0).measured_s == Approx(w.simulated_s).epsilon(1e-9));
    }
}

TEST_CASE("the same step gives the same file to the last byte", "[fidelity][generated]") {
  for (const LayoutKind& kind : layout_kinds()) {
    INFO(kind.name);
    CHECK(written(kind.settings).text == written(kind.settings).text);
  }
}

TEST_CASE("a workload names its collectives with their groups and bytes", "[fidelity][generated]") {
  // 16 ranks each hold the whole model; ZeRO 3 gathers its parameters and scatters its gradients.
  const Written w = written({"/training/global_batch=64", "/parallel/zero_stage=3"});
  std::int64_t gathered = 0, scattered = 0;
  for (const WorkOp& o : w.workload.ranks.at(0).ops) {
    if (o.kind != WorkKind::collective || o.bytes == 0) continue;
    CHECK(w.workload.groups.at(static_cast<std::size_t>(o.group)).size == 16);
    if (o.collective == Collective::all_gather) gathered += o.bytes;
    if (o.collective == Collective::reduce_scatter) scattered += o.bytes;
  }
  CHECK(gathered > 0);
  CHECK(scattered > 0);
}

TEST_CASE("a faster host in the replay is a faster host in the simulation",
          "[fidelity][generated]") {
  // 10 times the usual launch time leaves the GPU waiting; halved in the replay it is the
  // simulation at 5 times.
  const Settings batch{"/training/global_batch=64", "/strategy/host=eager"};
  const Written slow = written(batch + Settings{"/strategy/host_scale=10"});
  const Written fast = written(batch + Settings{"/strategy/host_scale=5"});
  REQUIRE(fast.simulated_s < 0.7 * slow.simulated_s);
  CHECK(replayed_s(with_faster_host(slow.workload, 2).workload) ==
        Approx(fast.simulated_s).epsilon(0.02));
}

TEST_CASE("faster kernels do not outrun the host of a replayed step", "[fidelity][generated]") {
  const Settings host_bound{"/training/global_batch=64", "/strategy/host=eager",
                            "/strategy/host_scale=10"};
  const Written w = written(host_bound);
  // The host issues all the time, so ten times faster kernels gain what the last ones leave.
  CHECK(replayed_s(with_faster(w.workload, "", 10).workload) > 0.9 * w.simulated_s);
  // Without a host in the way they gain nearly all of it.
  const Written free = written({"/training/global_batch=64"});
  CHECK(replayed_s(with_faster(free.workload, "", 2).workload) < 0.75 * free.simulated_s);
}

TEST_CASE("half the bandwidth in the replay is half the bandwidth in the simulation",
          "[fidelity][generated]") {
  const Written full = written({"/training/global_batch=64", "/cluster/nic_Gbps=20"});
  const Written half = written({"/training/global_batch=64", "/cluster/nic_Gbps=10"});
  REQUIRE(half.simulated_s > 1.5 * full.simulated_s);  // communication-bound
  CHECK(replayed_s(with_network_factors(full.workload, 0.5, 1).workload) ==
        Approx(half.simulated_s).epsilon(0.02));
}
