#include "sim/import/chakra/chakra.hpp"
#include "sim/core/result.hpp"
#include "sim/import/chakra/chakra_node.hpp"
#include "sim/import/chakra/execution_trace.hpp"
#include "sim/import/chakra/missing_ranks.hpp"
#include "sim/import/kineto/kineto.hpp"
#include "sim/import/replay/replay.hpp"
#include "tests/support/temp_path.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
// Protobuf by hand: varint, field with a number, field with bytes, length-delimited message.
std::string varint(std::uint64_t v) {
  std::string out;
  for (; v >= 0x80; v >>= 7) out += static_cast<char>((v & 0x7f) | 0x80);
  return out + static_cast<char>(v);
}
std::string number(int field, std::uint64_t v) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(v);
}
std::string bytes(int field, const std::string& v) {
  return varint((static_cast<std::uint64_t>(field) << 3) | 2) + varint(v.size()) + v;
}
std::string message(const std::string& body) { return varint(body.size()) + body; }
Workload read(const std::string& name, const std::string& content, Anomalies& anomalies) {
  const test::TempPath file(name, content);
  const std::vector<std::string> paths{file.path};
  return chakra::read_traces(paths, anomalies);
}
const WorkOp& collective_in(const Workload& w) {
  for (const WorkOp& o : w.ranks.at(0).ops)
    if (o.kind == WorkKind::collective) return o;
  FAIL("no collective");
  return w.ranks[0].ops[0];
}
}  // namespace

TEST_CASE("the first Chakra schema without metadata is read by its own numbers",
          "[chakra]") {  // chakra issue 198: schema refused
  // 2022: COMP = 3, COLL = 6; comm_type 13 with 3 = all-gather; comm_size 18; run time 7.
  const std::string content =
      message(number(1, 1) + bytes(2, "c") + number(3, 3) + number(7, 9) + number(12, 100)) +
      message(number(1, 2) + bytes(2, "g") + number(3, 6) + number(4, 1) + number(13, 3) +
              number(18, 4096));
  REQUIRE(chakra::sniff(content));
  Anomalies anomalies;
  const Workload w = read("a.et", content, anomalies);
  REQUIRE(w.ranks[0].ops.size() == 2);
  REQUIRE(w.ranks[0].ops[0].kind == WorkKind::compute);
  REQUIRE(w.ranks[0].ops[0].duration_s == Approx(9e-6));
  REQUIRE(collective_in(w).collective == Collective::all_gather);
  REQUIRE(collective_in(w).bytes == 4096);
  REQUIRE(collective_in(w).after == std::vector<std::uint32_t>{0});
  REQUIRE(anomalies.count_of("old_schema") == 1);
}

TEST_CASE("Chakra attributes of mid 2023 stand in field 11 and count all-to-all as 1", "[chakra]") {
  const auto attribute = [](const std::string& name, std::uint64_t v) {
    return bytes(11, bytes(1, name) + number(2, 3) + number(7, v));
  };
  // Field 5 holds a text about inputs there, which must not become a dependency.
  const std::string content =
      message(bytes(1, bytes(1, "schema") + number(2, 4) + bytes(8, "1.0"))) +
      message(number(1, 7) + bytes(2, "x") + number(3, 7) + bytes(5, "\x01\x02") +
              attribute("comm_type", 1) + attribute("comm_size", 512));
  REQUIRE(chakra::sniff(content));
  Anomalies anomalies;
  const Workload w = read("b.et", content, anomalies);
  REQUIRE(collective_in(w).collective == Collective::all_to_all);
  REQUIRE(collective_in(w).bytes == 512);
  REQUIRE(anomalies.count_of("parent_missing") == 0);
}

TEST_CASE("storage details of the newest Chakra schema are no attributes", "[chakra]") {
  const auto attribute = [](const std::string& name, std::uint64_t v) {
    return bytes(10, bytes(1, name) + number(9, v));
  };
  const std::string content = message(bytes(1, "0.0.5")) +
                              message(bytes(2, "r") + number(3, 8) + bytes(11, number(1, 1))) +
                              message(number(1, 1) + bytes(2, "all_reduce") + number(3, 7) +
                                      bytes(5, std::string(1, '\0')) + attribute("comm_type", 0) +
                                      attribute("comm_size", 64));
  Anomalies anomalies;
  const Workload w = read("c.et", content, anomalies);
  REQUIRE(w.ranks[0].ops.size() == 2);
  REQUIRE(collective_in(w).bytes == 64);
  REQUIRE(collective_in(w).after == std::vector<std::uint32_t>{0});  // id 0 is left out by proto3
}

TEST_CASE("a cycle and a missing parent are counted and the rest still runs",
          "[chakra]") {  // chakra issues 134, 45, 197
  const std::string content =
      message(bytes(1, "0.0.4")) +
      message(number(1, 1) + bytes(2, "a") + number(3, 4) + number(7, 5) + number(4, 2)) +
      message(number(1, 2) + bytes(2, "b") + number(3, 4) + number(7, 6) + number(4, 1) +
              number(4, 99));
  Anomalies anomalies;
  const Workload w = read("d.et", content, anomalies);
  REQUIRE(anomalies.count_of("dependency_cycle") == 1);
  REQUIRE(anomalies.count_of("parent_missing") == 1);
  REQUIRE(replay(w).total_s == Approx(11e-6));
}

TEST_CASE("ranks of a Chakra job without a file are named", "[chakra]") {
  using chakra::missing_ranks;
  REQUIRE(missing_ranks({{0, 1, 2, 3}, {0, 3}, 4}).empty());
  REQUIRE(missing_ranks({{0, 2, 5}, {}, 0}) == "1, 3-4");  // gaps
  REQUIRE(missing_ranks({{0, 1}, {}, 8}) == "2-7");        // a group of 8
  REQUIRE(missing_ranks({{2, 3}, {}, 4}) == "0-1");        // the first ones
  REQUIRE(missing_ranks({{0, 1}, {4}, 0}) == "2-4");       // a receiver
  REQUIRE(missing_ranks({{1, 2, 3, 4}, {}, 4}).empty());   // numbered from 1
  REQUIRE(missing_ranks({{1, 2, 3, 4}, {0}, 4}) == "0");   // unless a rank 0 is named
}

TEST_CASE("a Chakra folder that lacks ranks says which", "[chakra]") {
  // Two of four files: an all-reduce over the process group of 4 (comm_type 0, pg_size 4).
  const auto attribute = [](const std::string& name, std::uint64_t v) {
    return bytes(10, bytes(1, name) + number(9, v));
  };
  const std::string content =
      message(bytes(1, "0.0.4")) +
      message(number(1, 1) + bytes(2, "ALL_REDUCE") + number(3, 7) + attribute("comm_type", 0) +
              attribute("comm_size", 4096) + attribute("pg_size", 4));
  const test::TempPath zero("job.0.et", content), three("job.3.et", content);
  const std::vector<std::string> paths{zero.path, three.path};
  Anomalies anomalies;
  const Workload w = chakra::read_traces(paths, anomalies);
  REQUIRE(w.ranks.size() == 2);
  REQUIRE(anomalies.count_of("ranks_missing") == 1);
  REQUIRE(anomalies.list().back().places.at(0).starts_with("ranks 1-2 beside 2 files"));
}

TEST_CASE("Chakra JSON is read one object after another and as one object with nodes", "[chakra]") {
  const std::string node =
      R"({"id": "3", "name": "ALL_REDUCE", "type": "COMM_COLL_NODE", "dataDeps": ["2"], "attr": [{"name": "comm_type", "int64Val": "0"}, {"name": "comm_size", "int64Val": "1048576"}]})";
  const std::string compute =
      R"({"id": "2", "name": "gemm", "type": "COMP_NODE", "durationMicros": "40"})";
  const std::string one_by_one = "{\n  \"version\": \"0.0.4\"\n}\n" + compute + "\n" + node + "\n";
  const std::string together =
      R"({"nodes": [{"id": 2, "name": "gemm", "type": 4, "duration_micros": 40}, {"id": 3, "name": "x", "type": 7, "data_deps": [2], "comm_type": "ALL_REDUCE", "comm_size": 1048576}]})";
  for (const std::string& content : {one_by_one, together}) {
    REQUIRE(chakra::sniff(content));
    Anomalies anomalies;
    const Workload w = read("e.json", content, anomalies);
    REQUIRE(w.ranks[0].ops.size() == 2);
    REQUIRE(collective_in(w).collective == Collective::all_reduce);
    REQUIRE(collective_in(w).bytes == 1 << 20);
    REQUIRE(collective_in(w).after == std::vector<std::uint32_t>{0});
    REQUIRE(w.ranks[0].ops[0].duration_s == Approx(40e-6));
  }
  Anomalies anomalies;
  REQUIRE_THROWS_AS(read("cut.json", one_by_one.substr(0, one_by_one.size() - 20), anomalies),
                    InputError);
}

TEST_CASE(
    "a PyTorch execution trace gives its collectives with bytes and ranks and says that it holds "
    "no time",
    "[chakra]") {
  // all_gather of 3 floats a rank over 2 ranks: S = 2 x 3 x 4 = 24 bytes; this is rank 1.
  const std::string content = R"json({"schema": "1.0.2-chakra.0.0.4", "pid": 1, "nodes": [
    {"id": 2, "name": "aten::mm", "ctrl_deps": 1, "inputs": {"values": [[5,6,0,8,4,"cuda:0"],[7,8,0,8,4,"cuda:0"]], "shapes": [[2,4],[4,2]], "types": ["Tensor(float)","Tensor(float)"]}, "outputs": {"values": [], "shapes": [], "types": []}, "attrs": [{"name": "rf_id", "value": 11}, {"name": "tid", "value": 1}]},
    {"id": 3, "name": "record_param_comms", "ctrl_deps": 1, "inputs": {"values": [[[14,15,0,3,4,"cuda:0"]], 12, 82149104, 1, "all_gather", [], [], 2], "shapes": [], "types": []}, "outputs": {"values": [[[[19,20,0,3,4,"cuda:0"],[5,23,0,3,4,"cuda:0"]]]], "shapes": [], "types": []}, "attrs": [{"name": "rf_id", "value": 12}, {"name": "tid", "value": 1}]},
    {"id": 4, "name": "record_param_comms", "ctrl_deps": 1, "inputs": {"values": [12, 0, 0, "wait", [], [], 1], "shapes": [], "types": []}, "outputs": {"values": []}, "attrs": []}]})json";
  Anomalies anomalies;
  const Workload w = read("f.json", content, anomalies);
  REQUIRE(w.ranks[0].rank == 1);
  REQUIRE(w.ranks[0].ops.size() == 2);
  REQUIRE(collective_in(w).collective == Collective::all_gather);
  REQUIRE(collective_in(w).bytes == 24);
  REQUIRE(w.groups.at(0).size == 2);
  REQUIRE(w.notes.size() == 3);  // no times, no durations, one of two ranks
}

namespace {
/// A Kineto trace of two products, with or without ids; and an execution trace of the same or of
/// other operators.
std::string kineto_text(bool has_ids, int products = 2) {
  std::string events;
  for (int i = 0; i < products; ++i)
    events +=
        (i > 0 ? ",\n" : "") +
        std::string(
            R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": )") +
        std::to_string(100 * i) + R"(, "dur": 50, "args": {)" +
        (has_ids ? "\"Record function id\": " + std::to_string(11 + i)
                 : std::string("\"Ev Idx\": 1")) +
        "}}";
  return "{\"schemaVersion\": 1, \"traceEvents\": [" + events + "]}";
}
chakra::ExecutionTrace host(std::uint64_t first_id, const std::string& second = "aten::mm") {
  chakra::ExecutionTrace t;
  t.nodes.resize(2);
  for (std::uint64_t i = 0; i < 2; ++i)
    t.nodes[i].id = i + 1, t.nodes[i].rf_id = first_id + i, t.nodes[i].tid = 1,
    t.nodes[i].name = "aten::mm", t.nodes[i].shape.dims = "[[2,4],[4,8]]";
  t.nodes[1].name = second;
  return t;
}
}  // namespace

TEST_CASE("an execution trace lends shapes by id or by order and different captures are refused",
          "[chakra]") {
  const test::TempPath with_ids("k1.json", kineto_text(true)),
      without("k2.json", kineto_text(false)), longer("k3.json", kineto_text(false, 3));
  RankTrace a = kineto::read_trace(with_ids.path), b = kineto::read_trace(without.path),
            c = kineto::read_trace(longer.path);
  REQUIRE(chakra::link(host(11), a).by_id == 2);
  REQUIRE(a.op_shapes.at(a.events[0].shape).dims == "[[2,4],[4,8]]");
  REQUIRE(chakra::link(host(11), b).by_order == 2);
  REQUIRE(chakra::link(host(11), c).reason.find("different captures: 2 products") !=
          std::string::npos);
  RankTrace d = kineto::read_trace(with_ids.path);
  REQUIRE(chakra::link(host(11, "aten::bmm"), d).reason.find("different captures") !=
          std::string::npos);
  REQUIRE(chakra::link(host(500), d).reason.find("different captures") != std::string::npos);
}
