#include <unistd.h>

#include <fstream>
#include <map>

#include "tests/sim/cli/run_binary.hpp"
#include "tests/support/test.hpp"

using namespace stepcast::test;

namespace {
const std::string kCorpus = STEPCAST_IMPORT_CORPUS;
/// One well-formed file of each kind, hand-made.
const std::map<std::string, std::string>& files_of_kinds() {
  static const std::map<std::string, std::string> files{
      {"kineto", kCorpus + "/kineto/two_steps.json"},
      {"chakra", kCorpus + "/chakra/three.et"},
      {"goal", kCorpus + "/goal/two.goal"},
      {"nccl-tests", kCorpus + "/nccl-tests/new.log"},
      {"straggler-table", kCorpus + "/straggler-table/two.csv"},
      {"workload", kCorpus + "/workload/two.workload.json"},
      {"nsys", kCorpus + "/nsys/two.sqlite"}};
  return files;
}
void require_refused(const std::vector<std::string>& arguments, const std::string& part = "") {
  const Finished f = run_stepcast(arguments);
  INFO(arguments.back() << ": " << f.err);
  REQUIRE(f.exit_code == 2);
  REQUIRE(f.err.size() > 20);
  REQUIRE(f.err.size() < 2000);
  REQUIRE(f.err.find("fault of stepcast") == std::string::npos);
  if (!part.empty()) REQUIRE(f.err.find(part) != std::string::npos);
}
}  // namespace

TEST_CASE("every kind is found by its content alone whatever the file is called", "[import]") {
  for (const auto& [kind, path] : files_of_kinds()) {
    const Folder folder;
    const std::string renamed = folder.write("data.txt", content_of(path));
    const Finished f = run_stepcast({"import", renamed});
    INFO(kind << ": " << f.err);
    REQUIRE(f.exit_code == 0);
    REQUIRE(run_stepcast({"import", kind, renamed}).exit_code == 0);
  }
}

TEST_CASE("empty and binary and foreign files exit with 2 and a sentence", "[import]") {
  const Folder folder;
  require_refused({"import", folder.write("empty.json", "")}, "empty");
  std::string noise;
  for (unsigned i = 0, x = 12345; i < 100000; ++i)
    noise += static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
  require_refused({"import", folder.write("noise.bin", noise)}, "none of the formats");
  require_refused({"import", folder.write("letter.txt", "Dear reader,\nthis is no trace.\n")},
                  "none of the formats");
  require_refused({"import", folder.write("other.json", "{\"a\": [1, 2, 3]}")},
                  "none of the formats");
  require_refused({"import", folder.path("absent.json")}, "absent.json");
  require_refused({"import", folder.write("zeros", std::string(1 << 20, '\0'))},
                  "none of the formats");
  for (const auto& [kind, path] : files_of_kinds())
    require_refused({"import", kind, folder.write("empty", "")});
}

TEST_CASE("a file of another kind than the named one exits with 2", "[import]") {
  for (const auto& [kind, own] : files_of_kinds())
    for (const auto& [other, path] : files_of_kinds()) {
      if (kind == other) continue;
      if (kind == "kineto" && other == "workload") continue;  // refused for its own reason below
      require_refused({"import", kind, path});
    }
}

TEST_CASE("truncated and joined files exit with 2 unless their format has no end", "[import]") {
  for (const auto& [kind, path] : files_of_kinds()) {
    const Folder folder;
    const std::string whole = content_of(path);
    INFO(kind);
    if (kind == "nccl-tests" || kind == "straggler-table")
      continue;  // line by line: a cut loses a line, which is counted
    require_refused({"import", kind, folder.write("cut", whole.substr(0, whole.size() * 2 / 3))});
    if (kind == "chakra" || kind == "goal" || kind == "nsys")
      continue;  // joined: longer lists of nodes, ranks twice, pages that SQLite does not read
    require_refused({"import", kind, folder.write("twice", whole + whole)});
  }
  const Folder folder;
  const std::string goal = content_of(files_of_kinds().at("goal"));
  require_refused({"import", "goal", folder.write("twice.goal", goal + goal)});
}

TEST_CASE("a sparse file of 4 GB is refused without being read into memory", "[import]") {
  const Folder folder;
  const std::string path = folder.path("sparse.json");
  { std::ofstream(path) << "{\"schemaVersion\": 1, \"traceEvents\": ["; }
  REQUIRE(truncate(path.c_str(), std::int64_t{4} << 30) == 0);
  require_refused({"import", "kineto", path});
  const std::string zeros = folder.path("zeros.et");
  { std::ofstream out(zeros); }
  REQUIRE(truncate(zeros.c_str(), std::int64_t{4} << 30) == 0);
  for (const auto& [kind, own] : files_of_kinds()) require_refused({"import", kind, zeros});
  require_refused({"import", zeros}, "none of the formats");
}

TEST_CASE("what-ifs that cannot be meant are refused by name", "[import]") {
  const std::string workload = files_of_kinds().at("workload");
  require_refused({"replay", workload, "--faster", "gemm"}, "NAME=FACTOR");
  require_refused({"replay", workload, "--faster", "gemm=-1"}, "NAME=FACTOR");
  require_refused({"replay", workload, "--equalise", "everybody"}, "all, rank=N, stage=N, op=NAME");
  require_refused({"replay", workload, "--gpu", "h100-sxm5-80g"}, "--from-gpu");
  require_refused({"replay", workload, "--gpu", "h100", "--from-gpu", "a100-sxm4-80g"},
                  "is no profile file");
  require_refused({"replay", workload, "--equalise", "rank=99"}, "has no rank=99");
  require_refused({"replay", workload, "--equalise", "stage=0"}, "has no stage=0");
  require_refused({"replay", workload, "--equalise", "op=zzz"}, "has no op=zzz");
  require_refused({"replay", workload, "--faster", "reduce=2"}, "no compute op");
  require_refused({"replay", workload, "--codec-GBps", "9"}, "has no effect without --compress");
  for (const char* option : {"--bandwidth", "--latency", "--compute", "--compress"})
    require_refused({"replay", workload, option, "nan"}, "is no number");
  require_refused({"import", workload, workload}, "is given twice");
  require_refused({"replay", workload, "--nodes", "4"}, "--cluster");
  require_refused({"replay", workload, "--cluster", "no-such-cluster"}, "no-such-cluster");
  require_refused({"replay", files_of_kinds().at("nccl-tests")}, "nothing that can be replayed");
  require_refused({"import", workload, "-o", "/tmp/what.ever"}, "does not say what to write");
}
