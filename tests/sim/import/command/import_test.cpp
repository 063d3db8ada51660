#include <cstring>
#include <filesystem>

#include "sim/io/json.hpp"
#include "tests/sim/cli/run_binary.hpp"
#include "tests/support/gzip.hpp"
#include "tests/support/test.hpp"

using namespace stepcast::test;
using stepcast::Json;

namespace {
const std::string kCorpus = STEPCAST_IMPORT_CORPUS;
const std::string kTrace = kCorpus + "/kineto/two_steps.json";
Json json_of(const std::vector<std::string>& arguments) {
  const Finished f = run_stepcast(arguments);
  INFO(f.err);
  REQUIRE(f.exit_code == 0);
  return Json::parse(f.out);  // throws when anything else stands on standard output
}
/// A tar archive of one member, written by hand.
std::string tar_of(const std::string& name, const std::string& content) {
  std::string header(512, '\0');
  std::memcpy(header.data(), name.data(), name.size());
  std::snprintf(header.data() + 124, 12, "%011lo", static_cast<unsigned long>(content.size()));
  header[156] = '0';
  std::memcpy(header.data() + 257, "ustar", 5);
  return header + content + std::string((512 - content.size() % 512) % 512, '\0') +
         std::string(1024, '\0');
}
}  // namespace

TEST_CASE("a trace becomes a workload that replays as it was and a timeline and says so",
          "[import]") {
  const Folder folder;
  const Finished f = run_stepcast(
      {"import", kTrace, "-o", folder.path("a.workload.json.zst"), "-o", folder.path("a.json.gz")});
  INFO(f.err);
  REQUIRE(f.exit_code == 0);
  REQUIRE(f.out.find("wrote") != std::string::npos);
  REQUIRE(std::filesystem::file_size(folder.path("a.json.gz")) > 100);
  const Json replayed = json_of({"replay", folder.path("a.workload.json.zst"), "--json"});
  for (const Json& step : replayed["steps"])
    REQUIRE(step["replayed_s"].get<double>() ==
            Approx(step["measured_s"].get<double>()).epsilon(0.01));
  // Straight from the trace is the same.
  REQUIRE(json_of({"replay", kTrace, "--json"})["as_it_was"]["step_s"].get<double>() ==
          Approx(replayed["as_it_was"]["step_s"].get<double>()).epsilon(1e-9));
}

TEST_CASE("every what-if prints base and changed and what the answer rests on", "[import]") {
  const Finished f = run_stepcast({"replay",
                                   kCorpus + "/workload/two.workload.json",
                                   "--compute",
                                   "2",
                                   "--host",
                                   "2",
                                   "--graphs",
                                   "--bandwidth",
                                   "2",
                                   "--compress",
                                   "0.1",
                                   "--bucket-MiB",
                                   "1",
                                   "--data-parallel",
                                   "4096",
                                   "--equalise",
                                   "all",
                                   "--gpu",
                                   "h100-sxm5-80g",
                                   "--from-gpu",
                                   "a100-sxm4-80g",
                                   "--stragglers"});
  INFO(f.err);
  REQUIRE(f.exit_code == 0);
  std::size_t rests = 0;
  for (std::size_t at = 0; (at = f.out.find("rests on:", at)) != std::string::npos; ++at) ++rests;
  REQUIRE(rests == 11);  // nine, all of them together, the straggler report
  std::size_t paced = 0;
  for (std::size_t at = 0; (at = f.out.find("launch-bound for", at)) != std::string::npos; ++at)
    ++paced;
  REQUIRE(paced == 11);  // as it was, nine, all of them together
  REQUIRE(f.out.find("base      changed   difference") != std::string::npos);
}

TEST_CASE("archives and folders are walked and foreign files in them are counted", "[import]") {
  const Folder folder;
  const std::string trace = content_of(kTrace);
  std::filesystem::create_directories(folder.path("deep/er"));
  folder.write("deep/er/rank-0.json", trace);
  folder.write("deep/notes.txt", "not a trace");
  const Json walked = json_of({"import", folder.path("deep"), "--json"});
  REQUIRE(walked["traces"].size() == 1);
  bool is_counted = false;
  for (const Json& a : walked["anomalies"])
    is_counted = is_counted || a["name"] == "file_of_no_known_kind";
  REQUIRE(is_counted);
  const std::string archive = folder.write("a.tgz", gzip_of(tar_of("rank-0.json", trace)));
  const Json packed = json_of({"import", archive, "--json"});
  REQUIRE(packed["traces"].size() == 1);
  REQUIRE(packed["traces"][0]["steps"] == walked["traces"][0]["steps"]);
  REQUIRE(
      run_stepcast(
          {"import", folder.write("cut.tgz", gzip_of(tar_of("rank-0.json", trace)).substr(0, 700))})
          .exit_code == 2);
}

TEST_CASE("an nccl-tests log extends a profile and the curves go to a table", "[import]") {
  const Folder folder;
  std::string log = content_of(kCorpus + "/nccl-tests/new.log");
  log.replace(log.find("node-b"), 6,
              "node-a");  // both GPUs in one node: what a GPU's profile holds
  const Finished f =
      run_stepcast({"import", folder.write("one_node.log", log), "--base", "h100-sxm5-80g", "-o",
                    folder.path("mine.profile.json"), "-o", folder.path("curves.csv")});
  INFO(f.err << f.out);
  REQUIRE(f.exit_code == 0);
  REQUIRE(content_of(folder.path("curves.csv")).find("all_reduce") != std::string::npos);
  const Finished used = run_stepcast({"simulate", folder.write("s.json", kSmallScenario),
                                      "--profile", folder.path("mine.profile.json"), "--json"});
  INFO(used.err);
  REQUIRE(used.exit_code == 0);
}

TEST_CASE("logs over several nodes forecast another node count and logs of one node do not",
          "[import]") {
  const Folder folder;
  std::string log = content_of(kCorpus + "/nccl-tests/new.log");
  log.replace(log.find("NET/Socket"), 10, "NET/IB");  // sockets are no sound measurement
  const Finished f =
      run_stepcast({"import", folder.write("two.log", log), "--forecast-nodes", "16"});
  INFO(f.err << f.out);
  REQUIRE(f.exit_code == 0);
  REQUIRE(f.out.find("Forecast, from the sweeps over several nodes") != std::string::npos);
  log.replace(log.find("node-b"), 6, "node-a");
  const Finished refused =
      run_stepcast({"import", folder.write("one.log", log), "--forecast-nodes", "16"});
  REQUIRE(refused.exit_code == 2);
  REQUIRE(refused.err.find("no sound sweep over two nodes or more") != std::string::npos);
}
