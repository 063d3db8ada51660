// A small mutation fuzzer for the importers: import_fuzz TARGET SECONDS [SEED] [CORPUS].
// It needs no compiler support beyond the sanitizers (preset `sanitize`), keeps the input that was
// running in a file named on the first line, and prints the seed, so that a crash is repeated by
// the same command.
#include "tests/fuzz/fuzz_main.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <vector>

#include "sim/core/random.hpp"
#include "sim/core/result.hpp"
#include "sim/import/chakra/chakra.hpp"
#include "sim/import/chrome_timeline/chrome_timeline.hpp"
#include "sim/import/common/step_accounting.hpp"
#include "sim/import/common/trace_timeline.hpp"
#include "sim/import/costs/kernel_samples.hpp"
#include "sim/import/goal/goal.hpp"
#include "sim/import/k8s/k8s.hpp"
#include "sim/import/kineto/kineto.hpp"
#include "sim/import/nccl_tests/curves.hpp"
#include "sim/import/nsys/nsys.hpp"
#include "sim/import/replay/diagnosis.hpp"
#include "sim/import/replay/replay.hpp"
#include "sim/import/replay/trace_workload.hpp"
#include "sim/import/straggler/straggler_table.hpp"

namespace stepcast::fuzz {
namespace fs = std::filesystem;
namespace {
struct Bits {
  std::uint64_t state;
  std::uint64_t next() { return state = mixed_bits(state); }
  std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(next() % n); }
};
std::string mutated(const std::vector<std::string>& corpus, Bits& bits) {
  std::string s = corpus[bits.below(corpus.size())];
  static const std::vector<std::string> texts{
      "0", "-1",   "9223372036854775807", "1e308", "NaN", "\"", "\\",     "{", "}", "[",
      "]", "\xff", std::string(1, '\0'),  ",",     "\n",  ":",  "\\u0000"};
  for (std::size_t rounds = 1 + bits.below(6); rounds > 0 && !s.empty(); --rounds) {
    const std::size_t at = bits.below(s.size()),
                      length =
                          std::min(s.size() - at, 1 + bits.below(bits.below(4) == 0 ? 4096 : 16));
    switch (bits.below(9)) {
      case 0:
        s[at] = static_cast<char>(s[at] ^ (1 << bits.below(8)));
        break;
      case 1:
        s[at] = static_cast<char>(bits.next());
        break;
      case 2:
        s.erase(at, length);
        break;
      case 3:
        s.insert(at, s.substr(at, length));
        break;
      case 4:
        s.resize(at);
        break;
      case 5:
        s.insert(at, texts[bits.below(texts.size())]);
        break;
      case 6:
        s.replace(at, length, texts[bits.below(texts.size())]);
        break;
      case 7:
        s += corpus[bits.below(corpus.size())].substr(0, 1 + bits.below(20000));
        break;
      default:
        std::swap(s[at], s[bits.below(s.size())]);
    }
  }
  if (s.size() > (1 << 20)) s.resize(1 << 20);
  return s;
}
}  // namespace

std::int64_t run(Target target, const std::string& corpus_folder, double seconds,
                 std::uint64_t seed) {
  std::vector<std::string> corpus;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(corpus_folder))
    names.push_back(entry.path().string());
  std::sort(names.begin(), names.end());
  for (const auto& name : names) {
    std::ifstream in(name, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  if (corpus.empty()) throw InputError(Problem{corpus_folder, "", "holds no corpus file", ""});
  const std::string path =
      (fs::temp_directory_path() / fmt::format("stepcast-fuzz-{}", getpid())).string();
  std::cout << "seed " << seed << ", input under test: " << path << std::endl;
  Bits bits{seed};
  std::int64_t runs = 0, refused = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (; std::chrono::steady_clock::now() < end; ++runs) {
    { std::ofstream(path, std::ios::binary) << mutated(corpus, bits); }
    try {
      target(path);
    } catch (const InputError&) {
      ++refused;
    }
  }
  fs::remove(path);
  std::cout << runs << " inputs, " << refused << " refused, no finding" << std::endl;
  return runs;
}

namespace {
void all_of(std::vector<RankTrace> traces) {
  Anomalies anomalies;
  align_clocks(traces, anomalies);
  accounts_of(traces.front());
  kernel_samples(traces, anomalies);
  diagnosis_of(traces);
  timeline_of(traces);
  const Workload w = workload_of(traces, anomalies);
  if (!w.ranks.empty()) replay(w);
}
void kineto_target(const std::string& path) {
  std::vector<RankTrace> traces;
  traces.push_back(kineto::read_trace(path, {.allow_partial = true}));
  all_of(std::move(traces));
}
void timeline_target(const std::string& path) {
  std::vector<RankTrace> traces;
  traces.push_back(chrome_timeline::read_timeline(path, {.allow_partial = true}));
  all_of(std::move(traces));
}
void nsys_target(const std::string& path) { all_of(nsys::read_export(path)); }
void nccl_target(const std::string& path) {
  const auto logs = nccl_tests::import_logs(std::vector{path});
  nccl_tests::report_text(logs);
  nccl_tests::forecast_text(logs, std::vector{3, 64});
}
void k8s_target(const std::string& path) { k8s::import_job(path, {.cluster = "aws-p5"}); }
void chakra_target(const std::string& path) {
  Anomalies anomalies;
  replay(chakra::read_traces(std::vector{path}, anomalies));
}
void goal_target(const std::string& path) {
  Anomalies anomalies;
  replay(goal::read_schedule(path, anomalies));
}
void table_target(const std::string& path) {
  Anomalies anomalies;
  replay(straggler::read_table(path, anomalies));
}
void workload_target(const std::string& path) {
  if (const auto w = read_workload(path)) replay(*w);
}
}  // namespace
}  // namespace stepcast::fuzz

int main(int argc, char** argv) {
  using namespace stepcast::fuzz;
  const std::map<std::string, Target> targets{
      {"kineto", kineto_target}, {"timeline", timeline_target},     {"chakra-json", chakra_target},
      {"nsys", nsys_target},     {"nccl-tests", nccl_target},       {"chakra", chakra_target},
      {"goal", goal_target},     {"straggler-table", table_target}, {"workload", workload_target},
      {"k8s", k8s_target}};
  if (argc < 3 || !targets.contains(argv[1])) {
    std::cerr << "import_fuzz TARGET SECONDS [SEED] [CORPUS]; targets:";
    for (const auto& [name, target] : targets) std::cerr << ' ' << name;
    std::cerr << '\n';
    return 2;
  }
  const std::uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  const std::string corpus =
      argc > 4 ? argv[4] : std::string(STEPCAST_SOURCE_DIR) + "/tests/fuzz/corpus/" + argv[1];
  run(targets.at(argv[1]), corpus, std::strtod(argv[2], nullptr), seed);
  return 0;
}
