#include "sim/import/nccl_tests/curves.hpp"
#include "sim/import/nccl_tests/held_up.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::nccl_tests;

namespace {
// 8 ranks on two hosts; 1 GiB in 10 ms: algbw 107.37, busbw 2*7/8 of it = 187.90 GB/s.
const char* const kNew =
    "# nccl-tests version 2.17.8 nccl-headers=22902 nccl-library=22902\n"
    "# Collective test starting: all_reduce_perf\n"
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 agg "
    "iters: 1 validation: 1 graph: 0\n"
    "#  Rank  0 Group  0 Pid 1 on a device  0 [0000:1b:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid 2 on a device  1 [0000:43:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  2 Group  0 Pid 3 on b device  0 [0000:1b:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  3 Group  0 Pid 4 on b device  1 [0000:43:00] NVIDIA H100 80GB HBM3\n"
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong     "
    "time   algbw   busbw  #wrong\n"
    "   536870912     134217728     float     sum      -1   5000.0  107.37  161.06       0   "
    "5000.0  107.37  161.06       0\n"
    "  1073741824     268435456     float     sum      -1  10000.0  107.37  161.06       0  "
    "10010.0  107.27  160.90     N/A\n"
    "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 161.0\n";
const Log parsed(const std::string& text) { return parse_log(text, "job.log"); }
}  // namespace

TEST_CASE("a sweep of a new nccl-tests version gives ranks nodes device and both columns",
          "[nccl]") {
  const Log log = parsed(kNew);
  REQUIRE(log.sweeps.size() == 1);
  const Sweep& sweep = log.sweeps[0];
  REQUIRE(sweep.test == Test::all_reduce);
  REQUIRE((sweep.ranks == 4 && sweep.nodes == 2 && sweep.ranks_per_node == 2));
  REQUIRE(sweep.device == "NVIDIA H100 80GB HBM3");
  REQUIRE(sweep.rows.size() == 2);
  REQUIRE(sweep.rows[1].in_place->time_us == 10010.0);
  REQUIRE(log.anomalies.empty());
  REQUIRE(findings_of(sweep).empty());  // 1 GiB / 10 ms = 107.37; 2*3/4 of it = 161.06
}

TEST_CASE("old versions without root and with relative errors are read by the number of columns",
          "[nccl]") {
  const Log log = parsed(
      "#   Rank  0 Pid  1 on  a device  0 [0x07] A100-SXM4-40GB\n#   Rank  1 Pid  1 on  a device  "
      "1 [0x0a] A100-SXM4-40GB\n"
      "      1048576        262144   float     sum    100.0   10.49   10.49  1e-06    101.0   "
      "10.38   10.38  1e-06\n");
  REQUIRE(log.sweeps.size() == 1);
  REQUIRE(log.sweeps[0].rows[0].out_of_place->wrong ==
          0);  // 1e-06 is a rounding error of the sum, not a wrong value
  REQUIRE(log.sweeps[0].device == "A100-SXM4-40GB");
  REQUIRE(log.sweeps[0].test == Test::all_reduce);  // two ranks, a sum, busbw = algbw
  REQUIRE(log.anomalies.count_of("collective_inferred") == 1);
}

TEST_CASE("launcher prefixes and colour do not hide rows", "[nccl]") {
  for (const char* prefix :
       {"[1,0]<stdout>:", "[1,0]<stdout> ", "0: ", "job-launcher | ", "\x1b[32m",
        "2024-05-01T10:00:00.123456789Z ", "[2024-05-01 10:00:00] ", "2024-05-01 10:00:00,123 ",
        "2024-05-01T10:00:00+02:00 [1,0]<stdout>:"}) {
    std::string text;
    const std::string plain = kNew;
    for (std::size_t at = 0; at < plain.size();) {
      const auto end = plain.find('\n', at);
      text += prefix + plain.substr(at, end - at + 1);
      at = end + 1;
    }
    const Log log = parsed(text);
    CAPTURE(prefix);
    REQUIRE(log.sweeps.size() == 1);
    REQUIRE(log.sweeps[0].rows.size() == 2);
    REQUIRE(log.sweeps[0].ranks == 4);
  }
}

TEST_CASE("without rank lines the rank count follows from busbw over algbw and is called inferred",
          "[nccl]") {
  // 2(n-1)/n = 1.75 -> n = 8
  const Log log = parsed(
      "  1073741824 268435456 float sum -1 10000.0 107.37 187.90 0 10000.0 107.37 187.90 0\n");
  REQUIRE(log.sweeps[0].ranks == 8);
  REQUIRE(log.sweeps[0].is_world_inferred);
  REQUIRE(log.anomalies.count_of("ranks_inferred") == 1);
}

TEST_CASE("a log cut inside a row keeps the rows before and counts the loss", "[nccl]") {
  const std::string whole = kNew;
  const Log log = parsed(whole.substr(0, whole.find("10000.0") + 3));
  REQUIRE(log.sweeps.size() == 1);
  REQUIRE(log.sweeps[0].rows.size() == 1);
  REQUIRE(log.rows_lost == 1);
  REQUIRE(log.anomalies.count_of("tail_missing") == 1);
}

TEST_CASE("errors in the middle are counted and the rest is read", "[nccl]") {
  std::string text = kNew;
  text.insert(text.find("  1073741824"),
              "node7: Test NCCL failure common.cu:958 'unhandled system error'\n  67108864 16 "
              "float sum -1 12.\n");
  const Log log = parsed(text);
  REQUIRE(log.sweeps[0].rows.size() == 2);
  REQUIRE(log.anomalies.count_of("run_failed") == 1);
  REQUIRE(log.anomalies.count_of("row_unreadable") == 1);
}

TEST_CASE("printed busbw that does not follow from size and time is named", "[nccl]") {
  std::string text = kNew;
  text.replace(text.rfind("161.06"), 6, "261.06");
  const auto findings = findings_of(parsed(text).sweeps[0]);
  REQUIRE(findings.size() == 1);
  REQUIRE(findings[0].name == "busbw_mismatch");
  REQUIRE(findings[0].text.find("1 of 4 printed") != std::string::npos);
}

TEST_CASE("two nodes at TCP speed are called a TCP fallback and stalls are called stalls",
          "[nccl]") {
  Sweep sweep{.file = "x",
              .test = Test::all_reduce,
              .ranks = 8,
              .nodes = 2,
              .ranks_per_node = 4,
              .hosts = {"a", "b"}};
  // busbw = S / t * 7/4 = 5 GB/s at every size: t = S * 1.75 / 5e9
  for (int power = 20; power <= 30; ++power) {
    const double size = std::ldexp(1.0, power);
    sweep.rows.push_back(
        {.size = std::int64_t{1} << power,
         .type = "float",
         .out_of_place = Timing{size * 1.75 / 5e3, size / (size * 1.75 / 5e3) * 1e-3, 5.0, 0}});
  }
  auto findings = findings_of(sweep);
  REQUIRE(findings.size() == 1);
  REQUIRE(findings[0].name == "tcp_fallback");
  for (const int i : {2, 5, 8}) {  // three sizes take 10 times as long as their neighbours say
    auto& t = *sweep.rows[static_cast<std::size_t>(i)].out_of_place;
    t = {t.time_us * 10, t.algbw / 10, t.busbw / 10, 0};
  }
  findings = findings_of(sweep);
  REQUIRE(std::any_of(findings.begin(), findings.end(),
                      [](const Finding& f) { return f.name == "stalls"; }));
}

TEST_CASE("the other sizes of a run bound what each size needs", "[nccl]") {
  // 30 at 1: the 10 of size 2 hold it. 50 at 4: two of size 2 take 20, a rate that 18 at 8 reaches
  // again. 12 may stay above two of 8 (36): at 50 it is 1.39 of that, and nothing behind comes
  // back.
  const std::vector<std::pair<double, double>> points{{1, 30}, {2, 10}, {4, 50}, {8, 18}, {12, 50}};
  REQUIRE(bounded_times(points) == std::vector<double>{10, 10, 18, 18, 50});
  // A row without a time bounds nobody.
  REQUIRE(bounded_times(std::vector<std::pair<double, double>>{{1, 0}, {2, 10}}).back() == 10);
}

TEST_CASE("a sweep of very many sizes is judged without comparing each pair", "[nccl]") {
  // 1 us a KiB and 20 us more; the size in the middle takes twice the next one's time. A quadratic
  // search would compare 4e10 pairs.
  std::vector<std::pair<double, double>> points;
  for (int i = 1; i <= 200'000; ++i) points.emplace_back(1024.0 * i, 20.0 + i);
  points[100'000].second *= 2;
  const auto bounded = bounded_times(points);
  REQUIRE(bounded[100'000] == points[100'001].second);
  REQUIRE(bounded[150'000] == points[150'000].second);
}

TEST_CASE("a rate that falls for good is the network's and one that comes back is a stall",
          "[nccl]") {
  // Twice the bytes, five times the time. The first curve keeps that rate: 200 is 2.5 times 8
  // of 10. The second comes back to the first rate within a quarter (90 against 80), which bounds
  // both.
  const std::vector<std::pair<double, double>> falls{{1, 10}, {2, 20}, {4, 100}, {8, 200}};
  const std::vector<std::pair<double, double>> stalls{{1, 10}, {2, 20}, {4, 100}, {8, 90}};
  REQUIRE(bounded_times(falls) == std::vector<double>{10, 20, 100, 200});
  REQUIRE(bounded_times(stalls) == std::vector<double>{10, 20, 40, 80});
  Sweep sweep{.file = "x",
              .test = Test::all_to_all,
              .ranks = 2,
              .nodes = 2,
              .ranks_per_node = 1,
              .hosts = {"a", "b"}};
  for (const auto& [mebi, us] : {std::pair{128, 4e3}, {256, 8e3}, {512, 40e3}, {1024, 80e3}}) {
    const std::int64_t size = std::int64_t{mebi} << 20;
    const double algbw = static_cast<double>(size) / us * 1e-3;
    sweep.rows.push_back(
        {.size = size, .type = "float", .out_of_place = Timing{us, algbw, algbw / 2, 0}});
  }
  // A node sends half of each buffer: 16.8 GB/s at 128 MiB, 6.7 at 1 GiB.
  const auto findings = findings_of(sweep);
  const auto called = std::find_if(findings.begin(), findings.end(),
                                   [](const Finding& f) { return f.name == "rate_falls"; });
  REQUIRE(called != findings.end());
  REQUIRE(called->text.find("from 16.8 GB/s at 128 MiB to 6.71 at 1 GiB") != std::string::npos);
  REQUIRE(held_up_sizes(sweep).empty());
  const auto is_called = [](const Sweep& s) {
    const auto all = findings_of(s);
    return std::any_of(all.begin(), all.end(),
                       [](const Finding& f) { return f.name == "rate_falls"; });
  };
  // One node has no switch between nodes, and one slow size at the end may be a stall.
  Sweep inside = sweep;
  inside.nodes = 1, inside.ranks_per_node = 2, inside.hosts = {"a"};
  REQUIRE_FALSE(is_called(inside));
  Sweep last = sweep;
  last.rows[2] = last.rows[1];
  last.rows[2].size *= 2, last.rows[2].out_of_place->time_us *= 2;
  REQUIRE_FALSE(is_called(last));
}

TEST_CASE("a size slower than a larger one is called held up and one within a quarter is not",
          "[nccl]") {
  Sweep sweep{.file = "x", .test = Test::all_gather, .ranks = 8, .nodes = 2, .ranks_per_node = 4};
  const auto add = [&](std::int64_t size, double us) {
    const double algbw = static_cast<double>(size) / us * 1e-3;
    sweep.rows.push_back(
        {.size = size, .type = "float", .out_of_place = Timing{us, algbw, algbw * 7 / 8, 0}});
  };
  // 64 KiB: 60 / 50 = 1.2 of the size above. 256 KiB: 160 / 100 = 1.6 of two of 128 KiB, and 1.6 of
  // the size above; between its neighbours sqrt(50 x 100) = 70.7, 2.26 of it, below a stall's 2.5.
  add(1 << 15, 40), add(1 << 16, 60), add(1 << 17, 50), add(1 << 18, 160), add(1 << 19, 100);
  add(1 << 26, 5000);
  REQUIRE(held_up_sizes(sweep) == std::vector<std::int64_t>{1 << 18});
  const auto findings = findings_of(sweep);
  const auto called = std::find_if(findings.begin(), findings.end(),
                                   [](const Finding& f) { return f.name == "held_up_sizes"; });
  REQUIRE(called != findings.end());
  REQUIRE(called->severity == Severity::warning);
  REQUIRE(called->text.find("1 of 6 sizes") != std::string::npos);
  REQUIRE(called->text.find("256 KiB (1.60 times)") != std::string::npos);
}

TEST_CASE("the node that all slow pairs share is named", "[nccl]") {
  std::vector<Sweep> sweeps;
  const auto pair = [&](const char* a, const char* b, double rate) {
    Sweep s{.file = std::string(a) + b,
            .test = Test::send_recv,
            .ranks = 2,
            .nodes = 2,
            .ranks_per_node = 1,
            .hosts = {a, b}};
    const double size = std::ldexp(1.0, 30);
    s.rows.push_back({.size = std::int64_t{1} << 30,
                      .type = "float",
                      .out_of_place = Timing{size / rate * 1e-3, rate, rate, 0}});
    sweeps.push_back(s);
  };
  pair("a", "b", 40), pair("b", "c", 40), pair("a", "d", 40), pair("c", "d", 39);
  pair("a", "x", 9), pair("x", "c", 5),
      pair("b", "x", 7);  // x is the sick one: in 3 of 3 slow, a and c in 1 of 3
  const auto findings = findings_across(sweeps);
  int nodes = 0;
  for (const auto& f : findings)
    if (f.name == "slow_node") {
      ++nodes;
      REQUIRE(f.text.starts_with("x is slow in 3 of the 3 node sets"));
    }
  REQUIRE(nodes == 1);
  REQUIRE(findings.size() == 4);  // three pairs and the node
}

namespace {
/// A curve of sizes 2^3 ... 2^33 by a law of the size.
template <typename Law>
MeasuredCurve curve_by(Collective collective, int nodes, int g, Law law) {
  MeasuredCurve c{
      .collective = collective, .ranks = g * nodes, .nodes = nodes, .ranks_per_node = g};
  for (int power = 3; power <= 33; ++power)
    c.points.emplace_back(Bytes(std::int64_t{1} << power), Seconds(law(std::ldexp(1.0, power))));
  return c;
}
/// 14 us and 5 us a level of a tree up and down, beside a ring at 200 GB/s.
double all_reduce_truth(int nodes, double size) {
  return 14e-6 + 10e-6 * std::log2(nodes) + size * 2 * (8 * nodes - 1) / (8 * nodes) / 200e9;
}
}  // namespace

TEST_CASE("the start-up of an all-reduce grows by the levels of a tree", "[nccl]") {
  std::vector<MeasuredCurve> curves;
  for (const int nodes : {2, 8})
    curves.push_back(curve_by(Collective::all_reduce, nodes, 8,
                              [&](double s) { return all_reduce_truth(nodes, s); }));
  // 8 B: 14 + 10 log2(n): 24 us on 2 and 44 on 8 nodes; hence 34 on 4, 54 on 16, 94 on 256.
  for (const auto& [nodes, us] : {std::pair{4, 34.0}, {16, 54.0}, {256, 94.0}})
    REQUIRE(predicted_time(curves, Collective::all_reduce, nodes, 8, Bytes(8))->value * 1e6 ==
            Approx(us).epsilon(0.001));
  // 8 GiB take 80 ms and more: what a ring's steps add (at most 30 x 10 us) stays below 2 %.
  for (const int nodes : {4, 16})
    REQUIRE(predicted_time(curves, Collective::all_reduce, nodes, 8, Bytes(std::int64_t{1} << 33))
                ->value == Approx(all_reduce_truth(nodes, std::ldexp(1.0, 33))).epsilon(0.02));
}

TEST_CASE("the start-up of an all-gather grows by the steps of a ring", "[nccl]") {
  // One GPU a node, no step inside a node: 6 us + 4 us a step, 2 nodes 10 and 8 nodes 34.
  std::vector<MeasuredCurve> curves;
  for (const int nodes : {2, 8})
    curves.push_back(curve_by(Collective::all_gather, nodes, 1, [&](double s) {
      return 6e-6 + 4e-6 * (nodes - 1) + s * (nodes - 1) / nodes / 20e9;
    }));
  // 5 nodes: 6 + 4 x 4 = 22; 33 nodes: 6 + 4 x 32 = 134.
  for (const auto& [nodes, us] : {std::pair{5, 22.0}, {33, 134.0}})
    REQUIRE(predicted_time(curves, Collective::all_gather, nodes, 1, Bytes(8))->value * 1e6 ==
            Approx(us).epsilon(0.001));
}

TEST_CASE("from one node count the hop lies between the tuner's and what the time leaves",
          "[nccl]") {
  // One GPU a node, all-reduce of 24.4 us on 2 nodes, by the tuner a ring of 2 steps of 2.7 us,
  // each 0.54 of a tree's level of 5 us. It counts 4.4 us of base: at most 20 / 1.08 = 18.52 us a
  // level, geometric mean sqrt(5 x 18.52) = 9.623, base 24.4 - 1.08 x 9.623 = 14.008. On 8 nodes a
  // tree of 6 levels: 14.008 + 57.735 = 71.743 us.
  const std::vector<MeasuredCurve> curves{
      curve_by(Collective::all_reduce, 2, 1, [](double s) { return 24.4e-6 + s / 10e9; })};
  REQUIRE(predicted_time(curves, Collective::all_reduce, 8, 1, Bytes(8))->value * 1e6 ==
          Approx(71.743).epsilon(0.001));
}

TEST_CASE("a size that stalled does not reach the forecast", "[nccl]") {
  std::vector<MeasuredCurve> curves{
      curve_by(Collective::all_reduce, 2, 8, [](double s) { return all_reduce_truth(2, s); })};
  const auto sound = predicted_time(curves, Collective::all_reduce, 4, 8, Bytes(64));
  curves[0].points[3].second = Seconds(5e-3);  // 64 B
  const auto stalled = predicted_time(curves, Collective::all_reduce, 4, 8, Bytes(64));
  REQUIRE(stalled->value == Approx(sound->value).epsilon(0.01));
}

TEST_CASE("a forecast without a sweep over several nodes is refused", "[nccl]") {
  Import measured;
  measured.curves.push_back(
      curve_by(Collective::all_reduce, 1, 8, [](double s) { return 10e-6 + s / 2e11; }));
  REQUIRE_THROWS_AS(forecast_text(measured, std::vector{4}), InputError);
  measured.curves.push_back(
      curve_by(Collective::all_reduce, 2, 8, [](double s) { return all_reduce_truth(2, s); }));
  REQUIRE(forecast_text(measured, std::vector{4}).find("all_reduce          4") !=
          std::string::npos);
}

TEST_CASE("sniff knows logs by header or by rows alone", "[nccl]") {
  REQUIRE(sniff(kNew));
  REQUIRE(
      sniff("  8 2 float sum -1 10.0 0.00 0.00 0 10.0 0.00 0.00 0\n 16 4 float sum -1 10.0 0.00 "
            "0.00 0 10.0 0.00 0.00 0\n"));
  REQUIRE_FALSE(sniff("{\"traceEvents\": []}"));
  REQUIRE_FALSE(sniff("rank 0\nl1: calc 10\n"));
}
