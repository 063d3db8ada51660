#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sim/io/json.hpp"
#include "sim/launch/launch_file.hpp"
#include "sim/launch/quoting.hpp"
#include "sim/scenario/scenario.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using launch::Target;
namespace fs = std::filesystem;

namespace {
/// A folder whose torchrun, srun and scontrol print what they were called with.
class FakeCluster {
 public:
  FakeCluster()
      : folder_(fs::temp_directory_path() / ("stepcast_launch_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    program("torchrun", "printf '%s\\n' \"$@\"");
    program("srun",
            "while [ \"$1\" != torchrun ] && [ \"$1\" != python ]; do shift; done\n"
            "shift; printf '%s\\n' \"$@\"");
    // More than a pipe holds: whoever takes the first name must read the others.
    program("scontrol", "seq -f node%.0f 7 20000");
  }
  ~FakeCluster() { fs::remove_all(folder_); }
  /// Standard output of a script, a word a line.
  std::string run(const std::string& script, const std::string& arguments) const {
    std::ofstream(folder_ / "job.sh") << script;
    const std::string command = "cd " + folder_.string() + " && PATH=" + folder_.string() +
                                ":$PATH MASTER_ADDR=head SLURM_JOB_NODELIST=x bash job.sh " +
                                arguments + " 2>&1";
    std::string out;
    FILE* pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::array<char, 4096> buffer{};
    while (const std::size_t got = fread(buffer.data(), 1, buffer.size(), pipe))
      out.append(buffer.data(), got);
    REQUIRE(pclose(pipe) == 0);
    return out;
  }
  bool has(const std::string& name) const { return fs::exists(folder_ / name); }

 private:
  void program(const char* name, const std::string& body) const {
    std::ofstream(folder_ / name) << "#!/bin/sh\n" << body << "\n";
    fs::permissions(folder_ / name, fs::perms::owner_all);
  }
  fs::path folder_;
};

Scenario scenario_from(const std::string& json) {
  return scenario_of(Json::parse(json), "test.json").value_or_throw();
}
Scenario gpt(const std::string& name) {
  Json document = Json::parse(R"({
    "model": { "preset": "gpt3-125m" },
    "training": { "global_batch": 32, "micro_batch": 2, "sequence_length": 1024 },
    "parallel": { "tp": 2, "pp": 2 },
    "cluster": { "preset": "dgx-h100-ib400", "nodes": 2 } })");
  document["name"] = name;
  return scenario_from(document.dump());
}
const char* const kHostileName = "x'; touch pwned; #\ntouch pwned2\n$(touch pwned3)`touch pwned4`";
}  // namespace

TEST_CASE("a word comes back from the shell as it went in", "[launch]") {
  CHECK(launch::shell_quoted("--tp=8") == "--tp=8");
  CHECK(launch::shell_quoted("") == "''");
  CHECK(launch::shell_quoted("a b") == "'a b'");
  CHECK(launch::shell_quoted("it's") == "'it'\\''s'");
  CHECK(launch::yaml_quoted("a\"b\n: #") == "\"a\\\"b\\n: #\"");
  CHECK(launch::comment_line("a\nb") == "# a b\n");
  CHECK(launch::dns_label("GPT-3 175B, run_2") == "gpt-3-175b-run-2");
  CHECK(launch::dns_label("42") == "job-42");
  CHECK(launch::dns_label(std::string(100, 'a')).size() == 63);
}

TEST_CASE("the torchrun script starts the program with its arguments and the caller's",
          "[launch]") {
  const FakeCluster cluster;
  const auto file = launch::launch_file(Target::torchrun, gpt("small"), {});
  const std::string words = cluster.run(file.text, "--data-path 'my data'");
  CHECK(words.find("--nnodes=2\n--nproc-per-node=8\n") != std::string::npos);
  CHECK(words.find("--rdzv-endpoint=head:29400\n") != std::string::npos);
  CHECK(words.find("pretrain_gpt.py\n--num-layers\n12\n") != std::string::npos);
  CHECK(words.find("--tensor-model-parallel-size\n2\n") != std::string::npos);
  CHECK(words.ends_with("--data-path\nmy data\n"));
}

TEST_CASE("no name of a scenario or a script becomes a command", "[launch]") {
  for (const Target target : {Target::torchrun, Target::slurm}) {
    const FakeCluster cluster;
    const auto file =
        launch::launch_file(target, gpt(kHostileName), {.script = "a b;$(touch pwned5).py"});
    const std::string words = cluster.run(file.text, "");
    CHECK(words.find("\na b;$(touch pwned5).py\n") != std::string::npos);
    for (const char* name : {"pwned", "pwned2", "pwned3", "pwned4", "pwned5"})
      CHECK_FALSE(cluster.has(name));
  }
}

TEST_CASE("the Slurm script asks for nodes and GPUs and meets at the first node", "[launch]") {
  const FakeCluster cluster;
  const auto file = launch::launch_file(Target::slurm, gpt("small"), {});
  for (const char* line : {"#SBATCH --nodes=2\n", "#SBATCH --ntasks-per-node=1\n",
                           "#SBATCH --gpus-per-node=8\n", "#SBATCH --job-name=small\n"})
    CHECK(file.text.find(line) != std::string::npos);
  CHECK(cluster.run(file.text, "").find("--rdzv-endpoint=node7:29400\n") != std::string::npos);
}

TEST_CASE("Horovod's ranks are tasks of their own and torchrun does not start them", "[launch]") {
  const Scenario s = scenario_from(R"({ "model": { "preset": "resnet-50" },
    "training": { "micro_batch": 32, "precision": "fp32", "gradient_clip": false },
    "strategy": { "preset": "horovod" }, "cluster": { "preset": "dgx-a100-ib200", "nodes": 2 } })");
  const auto file = launch::launch_file(Target::slurm, s, {});
  CHECK(file.text.find("#SBATCH --ntasks-per-node=8\n") != std::string::npos);
  CHECK(file.text.find("srun --mpi=pmix python") != std::string::npos);
  // 128 MiB and 1 ms, Horovod's defaults since 0.21.
  CHECK(file.text.find("HOROVOD_FUSION_THRESHOLD=134217728\n") != std::string::npos);
  CHECK(file.text.find("HOROVOD_CYCLE_TIME=1\n") != std::string::npos);
  CHECK_THROWS_AS(launch::launch_file(Target::torchrun, s, {}), InputError);
}

TEST_CASE("a script of DeepSpeed writes the configuration it names", "[launch]") {
  const Scenario s = scenario_from(R"({ "model": { "preset": "gpt2-xl" },
    "training": { "micro_batch": 4, "sequence_length": 1024 },
    "strategy": { "preset": "deepspeed-zero2" }, "cluster": { "preset": "dgx-a100-ib200" } })");
  const FakeCluster cluster;
  const std::string words = cluster.run(launch::launch_file(Target::torchrun, s, {}).text, "");
  CHECK(words.find("--deepspeed_config\nds_config.json\n") != std::string::npos);
  CHECK(cluster.has("ds_config.json"));
}

TEST_CASE("the same scenario gives the same bytes", "[launch]") {
  for (const Target target : {Target::torchrun, Target::slurm, Target::k8s, Target::megatron})
    CHECK(launch::launch_file(target, gpt("small"), {}).text ==
          launch::launch_file(target, gpt("small"), {}).text);
}
