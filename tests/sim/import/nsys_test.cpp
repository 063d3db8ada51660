#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sim/core/result.hpp"
#include "sim/import/common/step_accounting.hpp"
#include "sim/import/nsys/nsys.hpp"
#include "sim/import/replay/diagnosis.hpp"
#include "sim/import/replay/trace_workload.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
/// An export made of SQL.
struct Export {
  std::string path =
      (std::filesystem::temp_directory_path() / (std::to_string(getpid()) + "x.sqlite")).string();
  explicit Export(const std::string& sql) {
    std::filesystem::remove(path);
    sqlite3* db = nullptr;
    sqlite3_open(path.c_str(), &db);
    char* error = nullptr;
    const int status = sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error);
    const std::string text = error == nullptr ? "" : error;
    sqlite3_free(error);
    sqlite3_close(db);
    INFO(text);
    REQUIRE(status == SQLITE_OK);
  }
  ~Export() { std::filesystem::remove(path); }
};
const std::string kKernels = R"(CREATE TABLE StringIds (id INTEGER, value TEXT);
  INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'ncclDevKernel_SendRecv'), (3, 'cudaLaunchKernel_v7000');
  CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, "end" INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, shortName INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 4000, 0, 7, 1, 16777216, 1), (4000, 6000, 0, 20, 2, 16777216, 2), (11000, 14000, 0, 7, 3, 16777216, 1);)";
const std::string kHost =
    R"(CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, "end" INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (500, 600, 16777217, 1, 3), (700, 800, 16777217, 2, 3), (10500, 10600, 16777217, 3, 3);
  CREATE TABLE NVTX_EVENTS (start INTEGER, "end" INTEGER, globalTid INTEGER, text TEXT, jsonText TEXT);
  INSERT INTO NVTX_EVENTS VALUES (0, 9000, 16777217, 'train step 1', NULL), (10000, 19000, 16777217, 'train step 2', NULL), (20000, 29000, 16777217, 'train step 3', NULL),
    (650, 900, 16777217, 'nccl:all_to_all, op_id = 5', NULL), (680, 850, 16777217, 'ncclAllToAll', '{"Message size [bytes]": 4096, "Peer rank": 1}');)";
}  // namespace

TEST_CASE(
    "an Nsight export gives steps by numbered ranges and collectives by the range around their "
    "launch",
    "[nsys]") {
  const Export file(kKernels + kHost);
  const auto traces = nsys::read_export(file.path);
  REQUIRE(traces.size() == 1);
  REQUIRE(traces[0].steps.size() == 3);
  const auto accounts = accounts_of(traces[0]);
  REQUIRE(accounts[0].period.value == Approx(10e-6));
  REQUIRE(accounts[0].compute.value == Approx(3e-6));
  REQUIRE(accounts[0].communication.value == Approx(2e-6));
  REQUIRE(traces[0].collectives.at(0).collective ==
          Collective::all_to_all);  // though the kernel is called SendRecv
  REQUIRE(traces[0].collectives.at(0).bytes == 4096);
}

TEST_CASE("an Nsight export without host tables still gives its kernels", "[nsys]") {
  const Export file(kKernels);
  const auto traces = nsys::read_export(file.path);
  REQUIRE(traces.at(0).events.size() == 3);
  REQUIRE(traces[0].anomalies.count_of("kernel_without_launch") == 3);
  REQUIRE(traces[0].collectives.at(0).collective == Collective::send_recv);
  REQUIRE(traces[0].anomalies.count_of("collective_from_kernel_name") == 1);
}

TEST_CASE("host ranges of an Nsight export without kernel rows are not called compute", "[nsys]") {
  const Export file(
      R"(CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, "end" INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1000, 1400, 0, 7, 1, 16777216), (11000, 11400, 0, 7, 2, 16777216);
  CREATE TABLE NVTX_EVENTS (start INTEGER, "end" INTEGER, globalTid INTEGER, text TEXT);
  INSERT INTO NVTX_EVENTS VALUES (0, 9000, 16777217, 'step 1'), (10000, 19000, 16777217, 'step 2'),
    (200, 8000, 16777217, 'aten::mm, op_id = 5, sizes = [[8, 4]]'), (10200, 18000, 16777217, 'aten::mm, op_id = 6, sizes = [[8, 4]]');)");
  const auto traces = nsys::read_export(file.path);
  REQUIRE(lacks_kernels(traces.at(0)));
  REQUIRE(traces[0].anomalies.count_of("no_kernel_rows") == 1);
  const auto accounts = accounts_of(traces[0]);
  REQUIRE(accounts.size() == 2);
  REQUIRE(accounts[0].compute.value == 0);  // aten::mm takes 7.8 us of the host in each step
  REQUIRE(accounts[0].copies.value == Approx(0.4e-6));
  const auto lines = diagnosis_of(traces, nullptr);
  const auto gpu = std::find_if(lines.begin(), lines.end(),
                                [](const DiagnosisLine& l) { return l.topic == "GPU time"; });
  REQUIRE(gpu != lines.end());
  REQUIRE(gpu->severity == Severity::error);
  REQUIRE(gpu->text.find("no compute kernel of rank 0 was recorded") != std::string::npos);
  for (const DiagnosisLine& line : lines) REQUIRE(line.topic != "host-bound");
  Anomalies anomalies;
  const Workload w = workload_of(traces, anomalies);
  REQUIRE(std::any_of(w.notes.begin(), w.notes.end(), [](const std::string& note) {
    return note.starts_with("1 of 1 ranks recorded device work without a compute kernel");
  }));
}

TEST_CASE("an Nsight export with kernels lacks none", "[nsys]") {
  const Export file(kKernels);
  REQUIRE_FALSE(lacks_kernels(nsys::read_export(file.path).at(0)));
}

TEST_CASE("databases that are no Nsight export are refused with a sentence", "[nsys]") {
  const Export other("CREATE TABLE t (a INTEGER);");
  REQUIRE_THROWS_WITH(nsys::read_export(other.path), Catch::Contains("holds no device work"));
  const Export odd("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (a INTEGER);");
  REQUIRE_THROWS_WITH(nsys::read_export(odd.path), Catch::Contains("has no column start"));
}
