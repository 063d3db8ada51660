#include <fmt/format.h>

#include <iostream>

#include "sim/import/chakra/chakra.hpp"
#include "sim/import/chakra/execution_trace.hpp"
#include "sim/import/common/step_accounting.hpp"
#include "sim/import/goal/goal.hpp"
#include "sim/import/kineto/kineto.hpp"
#include "sim/import/nsys/nsys.hpp"
#include "sim/import/replay/replay.hpp"
#include "tests/fidelity/import/shared_data.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

TEST_CASE("Nsight exports of new and old schema meet their stated sums", "[fidelity][nsys]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  const auto traces = nsys::read_export(data + "/traces/nsys-ai/mfu_2gpu_before.sqlite.gz");
  REQUIRE(traces.size() == 2);
  // notes/traces.md: devices 0, 1: kernels 1,993 / 2,017 (33 NCCL each), compute 253.7 / 256.1 ms,
  // NCCL 17.2 / 8.2, copies 2.8; published kernel sum 535.20 ms, NCCL 25.400.
  const struct {
    std::int64_t kernels;
    double compute, nccl;
  } truth[2] = {{1993, 253.7, 17.2}, {2017, 256.1, 8.2}};
  double kernel_sum = 0, nccl_sum = 0;
  for (std::size_t d = 0; d < 2; ++d) {
    std::int64_t kernels = 0, collectives = 0;
    double compute = 0, nccl = 0;
    for (const TraceEvent& e : traces[d].events) {
      if (e.kind == EventKind::kernel) ++kernels, compute += static_cast<double>(e.duration) * 1e-6;
      if (e.kind == EventKind::collective)
        ++kernels, ++collectives, nccl += static_cast<double>(e.duration) * 1e-6;
    }
    std::cout << fmt::format(
                     "nsys device {}: {} kernels, {} NCCL, compute {:.2f} ms, NCCL {:.2f} ms, "
                     "steps by {}\n",
                     d, kernels, collectives, compute, nccl, traces[d].step_source)
              << text_of(accounts_of(traces[d])) << traces[d].anomalies.text();
    REQUIRE(kernels == truth[d].kernels);
    REQUIRE(collectives == 33);
    REQUIRE(compute == Approx(truth[d].compute).epsilon(0.01));
    REQUIRE(nccl == Approx(truth[d].nccl).epsilon(0.01));
    kernel_sum += compute + nccl, nccl_sum += nccl;
  }
  REQUIRE(kernel_sum == Approx(535.20).epsilon(0.001));
  REQUIRE(nccl_sum == Approx(25.400).epsilon(0.001));
  const auto old = nsys::read_export(data + "/traces/pipit/saxpy-mpi-cuda.sqlite.gz");
  REQUIRE_FALSE(old.empty());
  std::cout << "pipit: " << old.size() << " devices, " << old.front().events.size() << " events\n";
}

TEST_CASE(
    "generated Chakra traces of eight ranks run and a spelled-out ring costs what its steps say",
    "[fidelity][chakra]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  const auto files = [&](const char* folder, const char* stem) {
    std::vector<std::string> paths;
    for (int r = 0; r < 8; ++r)
      paths.push_back(fmt::format("{}/traces/astra-sim/{}/{}.{}.et", data, folder, stem, r));
    return paths;
  };
  Anomalies anomalies;
  const Workload one =
      chakra::read_traces(files("micro/all_reduce_8npus_1MB", "all_reduce"), anomalies);
  REQUIRE(one.ranks.size() == 8);
  REQUIRE(one.op_count() == 8);
  REQUIRE(one.ranks[0].ops[0].bytes == 1 << 20);
  const Workload ring =
      chakra::read_traces(files("custom_ring_allreduce_8npus_1MB", "custom_allreduce"), anomalies);
  REQUIRE(workload_fault(ring).empty());
  const ReplayResult r = replay(ring);
  std::int64_t sent = 0;
  for (const WorkOp& o : ring.ranks[0].ops)
    if (o.kind == WorkKind::send) sent += o.bytes;
  std::cout << fmt::format(
      "ring: {} ops, rank 0 sends {} bytes, {:.1f} us; one node: {:.1f} us\n{}", ring.op_count(),
      sent, r.total_s * 1e6, replay(one).total_s * 1e6, anomalies.text());
  REQUIRE(sent == 14 * 131072);  // 2(n-1) chunks of 1 MiB / 8
}

TEST_CASE(
    "PyTorch execution traces of two schemas read and a Kineto trace of another window is not "
    "linked",
    "[fidelity][chakra]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  Anomalies anomalies;
  const auto host =
      chakra::read_execution_trace(data + "/traces/param/linear_et.json.gz", anomalies);
  REQUIRE(host.has_value());
  REQUIRE(host->schema == "1.0.1");
  RankTrace kineto = kineto::read_trace(data + "/traces/param/linear_kineto.json.gz");
  const auto linked = chakra::link(*host, kineto);
  std::cout << "linear: " << linked.reason << '\n';
  REQUIRE(linked.by_id + linked.by_order == 0);
  REQUIRE(linked.reason.find("different captures") != std::string::npos);
}

TEST_CASE("the shipped GOAL example runs in its tree's depth", "[fidelity][goal]") {
  STEPCAST_NEEDS_SHARED_DATA(data);
  Anomalies anomalies;
  const Workload w = goal::read_schedule(data + "/traces/LogGOPSim/binary_tree_32.goal", anomalies);
  REQUIRE(w.ranks.size() == 32);
  // Five levels at most, each one message of 3.7 us (messages of a rank leave at once here: no
  // sending overhead is modelled).
  REQUIRE(replay(w).total_s <= 5 * 3.8e-6);
  REQUIRE(replay(w).total_s >= 3.7e-6);
}
