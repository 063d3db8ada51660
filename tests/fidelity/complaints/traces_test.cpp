// Traces that users could not convert, understand or load: one test per public report that no unit
// test of an importer covers already (TRACES.md lists all).
#include <sys/resource.h>

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "sim/import/common/collective_match.hpp"
#include "sim/import/common/step_accounting.hpp"
#include "sim/import/common/trace_timeline.hpp"
#include "sim/import/kineto/kineto.hpp"
#include "sim/import/replay/diagnosis.hpp"
#include "sim/import/replay/replay.hpp"
#include "sim/import/replay/trace_workload.hpp"
#include "sim/import/replay/what_if.hpp"
#include "sim/timeline/chrome_trace.hpp"
#include "tests/support/temp_path.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
std::string event(const std::string& cat, const std::string& name, int pid, int tid, double ts,
                  double dur, const std::string& args = "{}") {
  return fmt::format(
      R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {:.3f}, "dur": {:.3f}, "args": {}}})",
      cat, name, pid, tid, ts, dur, args);
}
std::string document(int rank, const std::vector<std::string>& events) {
  return fmt::format(
             R"({{"schemaVersion": 1, "distributedInfo": {{"rank": {}, "world_size": 2}}, "traceEvents": [)",
             rank) +
         joined(events, ",\n") + "]}";
}
std::string launch(double ts, int correlation) {
  return event("cuda_runtime", "cudaLaunchKernel", 9, 9, ts, 5,
               fmt::format(R"({{"correlation": {}}})", correlation));
}
std::string gemm(double ts, double dur, int correlation) {
  return event("kernel", "gemm", 0, 7, ts, dur,
               fmt::format(R"({{"correlation": {}}})", correlation));
}
std::string reduction(double ts, double dur, int stream, const std::string& group,
                      int correlation) {
  return event(
      "kernel", "ncclDevKernel_Generic(ncclDevComm*)", 0, stream, ts, dur,
      fmt::format(R"({{"correlation": {}, "Collective name": "allreduce", "dtype": "Float",)"
                  R"( "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": 2,)"
                  R"( "Process Group Name": "{}"}})",
                  correlation, group));
}
std::string step(int number) {
  return event("user_annotation", fmt::format("ProfilerStep#{}", number), 9, 9, 1000.0 * number,
               1000);
}
/// Two steps of 1000 us: a product of 300 us, then an all-reduce of 200 us, 100 us of it beside the
/// product.
std::string plain(int rank) {
  std::vector<std::string> events;
  for (const int n : {1, 2}) {
    const double at = 1000.0 * n;
    for (const auto& e : {step(n), launch(at + 50, 2 * n), gemm(at + 100, 300, 2 * n),
                          launch(at + 60, 2 * n + 1), reduction(at + 300, 200, 20, "0", 2 * n + 1)})
      events.push_back(e);
  }
  return document(rank, events);
}
double owned_us(const ReplayResult& r, Owner owner) {
  return r.ranks[0][0].owned[static_cast<std::size_t>(owner)] * 1e6;
}
double rss_MiB() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}
}  // namespace

TEST_CASE("a trace of the CPU alone has steps and no GPU", "[complaints][fidelity]") {
  // chakra#197, chakra#45: only CPU nodes came out
  std::vector<std::string> events;
  for (const int n : {1, 2}) {
    events.push_back(step(n));
    events.push_back(event("cpu_op", "aten::mm", 9, 9, 1000.0 * n + 100, 600));
  }
  const test::TempPath file("cpu.json", document(0, events));
  std::vector<RankTrace> traces;
  traces.push_back(kineto::read_trace(file.path));
  const auto accounts = accounts_of(traces[0]);
  REQUIRE(accounts.size() == 2);
  CHECK(accounts[0].kernels == 0);
  CHECK(accounts[0].period.value == Approx(1000e-6));
  Anomalies anomalies;
  const Workload w = workload_of(traces, anomalies);
  CHECK(replay(w).step_s.at(0) == Approx(1000e-6));
  // All of it is the host's: a host of twice the speed halves it.
  CHECK(owned_us(replay(w), Owner::host) == Approx(1000));
  CHECK(replay(with_faster_host(w, 2).workload).step_s.at(0) == Approx(500e-6));
}

TEST_CASE("a kernel that starts before its launch replays in the recorded time",
          "[complaints][fidelity]") {  // kineto#1380
  const test::TempPath file("early.json",
                            document(0, {step(1), launch(1100, 1), gemm(1098, 300, 1), step(2),
                                         launch(2100, 2), gemm(2098, 300, 2)}));
  std::vector<RankTrace> traces;
  traces.push_back(kineto::read_trace(file.path));
  CHECK(traces[0].anomalies.count_of("kernel_before_launch") == 2);
  Anomalies anomalies;
  const Workload w = workload_of(traces, anomalies);
  for (const WorkOp& o : w.ranks[0].ops) {
    CHECK(o.delay_s >= 0);
    CHECK(o.duration_s >= 0);
  }
  CHECK(replay(w).step_s.at(0) == Approx(1000e-6));
}

TEST_CASE("idle is shown and exposed time is not the total", "[complaints][fidelity]") {
  // astra-sim#129, #148, #150, #208, #267: no breakdown, exposed equals total, idle never shown
  const test::TempPath file("plain.json", plain(0));
  std::vector<RankTrace> traces;
  traces.push_back(kineto::read_trace(file.path));
  const StepAccount a = accounts_of(traces[0]).at(0);
  CHECK(a.compute.value == Approx(300e-6));
  CHECK(a.communication.value == Approx(200e-6));
  CHECK(a.exposed_communication.value == Approx(100e-6));  // 400..500
  CHECK(a.device_idle.value == Approx(600e-6));            // 1000 - (100..500)
  // The same step owned moment by moment: the host alone 0..100 (the launch and before) and from
  // 500 to the mark at 1000.
  Anomalies anomalies;
  const ReplayResult r = replay(workload_of(traces, anomalies));
  CHECK(owned_us(r, Owner::compute) == Approx(300));
  CHECK(owned_us(r, Owner::transfer) == Approx(100));
  CHECK(owned_us(r, Owner::host) + owned_us(r, Owner::idle) == Approx(600));
}

TEST_CASE("exposed milliseconds of two groups are claimed once", "[complaints][fidelity]") {
  // nsys-ai#247, #278: the same exposed time in two findings, or in none. Groups a and b reduce at
  // 400..600 and 500..800 behind a product that ends at 400: exposed 400 us, 200 + 200.
  std::vector<std::string> events;
  for (const int n : {1, 2}) {
    const double at = 1000.0 * n;
    for (const auto& e : {step(n), launch(at + 50, 3 * n), gemm(at + 100, 300, 3 * n),
                          launch(at + 60, 3 * n + 1), reduction(at + 400, 200, 20, "a", 3 * n + 1),
                          launch(at + 70, 3 * n + 2), reduction(at + 500, 300, 21, "b", 3 * n + 2)})
      events.push_back(e);
  }
  const test::TempPath file("groups.json", document(0, events));
  std::vector<RankTrace> traces;
  traces.push_back(kineto::read_trace(file.path));
  CHECK(accounts_of(traces[0]).at(0).exposed_communication.value == Approx(400e-6));
  bool is_found = false;
  for (const DiagnosisLine& line : diagnosis_of(traces))
    if (line.topic == "exposed by group") {
      is_found = true;
      CHECK(line.text.find("0.20 ms, ") != std::string::npos);
      CHECK(line.text.find("0.20 ms a step") != std::string::npos);
    }
  CHECK(is_found);
}

TEST_CASE("ranks merge into one trace that says who is who", "[complaints][fidelity]") {
  // sglang#11413, TraceLens TraceFusion: everyone writes a merge of their own
  const test::TempPath a("rank-0.json", plain(0)), b("rank-1.json", plain(1)), out("merged.json");
  std::vector<RankTrace> traces;
  traces.push_back(kineto::read_trace(a.path));
  traces.push_back(kineto::read_trace(b.path));
  write_chrome_trace(timeline_of(traces), out.path);
  std::ifstream in(out.path);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  std::size_t products = 0;
  for (auto at = text.find("\"gemm\""); at != std::string::npos; at = text.find("\"gemm\"", at + 1))
    ++products;
  CHECK(products == 4);  // two steps of two ranks
  for (const char* rank : {"rank 0", "rank 1"}) CHECK(text.find(rank) != std::string::npos);
}

TEST_CASE("memory grows by a fraction of a trace's size", "[complaints][fidelity]") {
  // kineto#595, #760, #805, HTA#250, HTA#43: traces of gigabytes. 60 MB of operators, launches and
  // kernels; 1 GB in 1.5 GiB means 1.5 bytes a byte, held with half of that to spare.
  const test::TempPath file("large.json");
  constexpr double kMegabytes = 60;
  {
    std::ofstream out(file.path);
    out << R"({"schemaVersion": 1, "traceEvents": [)" << step(1);
    int n = 0;
    for (double at = 1010; out.tellp() < static_cast<std::streamoff>(kMegabytes * 1e6); at += 20) {
      ++n;
      out << ",\n"
          << event("cpu_op", "aten::mm", 9, 9, at, 10) << ",\n"
          << launch(at + 2, n) << ",\n"
          << gemm(at + 8, 10, n);
    }
    out << "]}";
  }
  const double before = rss_MiB();
  const RankTrace trace = kineto::read_trace(file.path);
  CHECK(trace.entries_read > 300'000);
  CHECK(trace.entries_lost == 0);
  CHECK(rss_MiB() - before < 0.75 * kMegabytes + 64);  // 64: windows and tables that do not grow
}
