#include "sim/import/chrome_timeline/chrome_timeline.hpp"
#include "sim/core/result.hpp"
#include "sim/import/common/step_accounting.hpp"
#include "tests/support/temp_path.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
RankTrace read(const std::string& content) {
  REQUIRE(chrome_timeline::sniff(content));
  const test::TempPath file("t.json", content);
  return chrome_timeline::read_timeline(file.path);
}
std::int64_t count_of(const RankTrace& t, EventKind kind) {
  std::int64_t count = 0;
  for (const TraceEvent& e : t.events) count += e.kind == kind;
  return count;
}
std::string process(int pid, const std::string& name) {
  return R"({"name": "process_name", "ph": "M", "pid": )" + std::to_string(pid) +
         R"(, "args": {"name": ")" + name + "\"}},\n";
}
std::string thread(int pid, int tid, const std::string& name) {
  return R"({"name": "thread_name", "ph": "M", "pid": )" + std::to_string(pid) + R"(, "tid": )" +
         std::to_string(tid) + R"(, "args": {"name": ")" + name + "\"}},\n";
}
std::string span(int pid, int tid, const std::string& name, int ts, int dur) {
  return R"({"name": ")" + name + R"(", "ph": "X", "pid": )" + std::to_string(pid) +
         R"(, "tid": )" + std::to_string(tid) + R"(, "ts": )" + std::to_string(ts) +
         R"(, "dur": )" + std::to_string(dur) + R"(, "args": {}},)" + "\n";
}
std::string begin(int pid, const std::string& name, int ts) {
  return R"({"ph": "B", "name": ")" + name + R"(", "ts": )" + std::to_string(ts) + R"(, "pid": )" +
         std::to_string(pid) + "},\n";
}
std::string end(int pid, int ts) {
  return R"({"ph": "E", "ts": )" + std::to_string(ts) + R"(, "pid": )" + std::to_string(pid) +
         "},\n";
}
/// Two tensors fused into one message, 100 us of negotiation, 300 us of NCCL, at `at`.
std::string horovod_step(int at) {
  std::string out;
  for (const int pid : {1, 2})
    out += begin(pid, "NEGOTIATE_ALLREDUCE", at) + end(pid, at + 100) +
           begin(pid, "ALLREDUCE", at + 100) + begin(pid, "NCCL_ALLREDUCE", at + 150) +
           end(pid, at + 450) + end(pid, at + 500);
  return out;
}
}  // namespace

TEST_CASE("a Horovod timeline that was never closed gives its messages once and a step per round",
          "[timeline]") {
  const RankTrace t = read("[\n" + process(1, "gradient_a") + process(2, "gradient_b") +
                           horovod_step(0) + horovod_step(1000) + horovod_step(2000));
  REQUIRE(t.format == "horovod");
  REQUIRE(count_of(t, EventKind::collective) == 3);
  REQUIRE(t.anomalies.count_of("fused_tensors") == 3);
  REQUIRE(t.steps.size() == 3);
  const auto accounts = accounts_of(t);
  REQUIRE(accounts[0].period.value == Approx(1000e-6));
  REQUIRE(accounts[0].communication.value == Approx(300e-6));
  REQUIRE(t.collectives[0].collective == Collective::all_reduce);
}

TEST_CASE("TensorFlow 1 streams are read and the summary of all streams is not counted again",
          "[timeline]") {
  const RankTrace t =
      read("{\"traceEvents\": [\n" +
           process(1, "/job:localhost/replica:0/task:0/device:GPU:0/stream:all Compute") +
           process(2, "/job:localhost/replica:0/task:0/device:GPU:0/stream:13 Compute") +
           process(3, "/job:localhost/replica:0/task:0/device:CPU:0 Compute") +
           span(1, 0, "MatMul", 10, 40) + span(2, 0, "MatMul", 10, 40) +
           span(2, 0, "ncclAllReduceRingLLKernel_sum_f32", 40, 30) + span(3, 0, "MatMul", 0, 8) +
           R"({"name": "end", "ph": "i", "pid": 1, "ts": 1}]})");
  REQUIRE(t.format == "tensorflow");
  const auto accounts = accounts_of(t);
  REQUIRE(accounts.size() == 1);
  REQUIRE(accounts[0].compute.value == Approx(40e-6));
  REQUIRE(accounts[0].communication.value == Approx(30e-6));
  REQUIRE(accounts[0].exposed_communication.value == Approx(20e-6));  // 50..70
}

TEST_CASE("TensorFlow 2 and JAX name streams and steps by thread", "[timeline]") {
  const RankTrace t = read(
      "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n" + process(1, "/device:GPU:0") +
      thread(1, 1, "Stream #13(Compute)") + thread(1, 2, "Steps") + thread(1, 3, "XLA Modules") +
      span(1, 2, "7", 0, 100) + span(1, 2, "8", 100, 90) + span(1, 3, "jit_train", 0, 100) +
      span(1, 1, "gemm_fusion", 10, 60) + span(1, 1, "gemm_fusion", 110, 50) + "{}]}");
  REQUIRE(t.steps.size() == 2);
  REQUIRE(t.steps[0].number == 7);
  REQUIRE_FALSE(t.are_steps_inferred);
  const auto accounts = accounts_of(t);
  REQUIRE(accounts[0].compute.value == Approx(60e-6));
  REQUIRE(accounts[1].compute.value == Approx(50e-6));
  REQUIRE(t.anomalies.count_of("entries_not_kept") == 1);
}

TEST_CASE("PyTorch traces are left to their own importer", "[timeline]") {
  REQUIRE_FALSE(chrome_timeline::sniff(
      R"({"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "kernel", "name": "/device:GPU"}]})"));
  REQUIRE_FALSE(chrome_timeline::sniff("num_ranks 2"));
}
