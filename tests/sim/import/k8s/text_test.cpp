#include "sim/core/result.hpp"
#include "sim/import/k8s/launch_line.hpp"
#include "sim/import/k8s/pipeline_layout.hpp"
#include "sim/import/k8s/shell_words.hpp"
#include "sim/import/k8s/yaml.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::k8s;
using Words = std::vector<std::string>;

namespace {
std::string fault_of(const std::string& text) {
  try {
    yaml_documents(text, "job.yaml");
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}
}  // namespace

TEST_CASE("an alias stands for its anchor within a document", "[k8s]") {
  const auto documents = yaml_documents(
      "kind: A\na: &pod\n  n: 2\nb: *pod\nc:\n  <<: *pod\n  m: 3\n---\nkind: B\n", "job.yaml");
  REQUIRE(documents.size() == 2);
  CHECK(documents[0].at("b/n")->text == "2");
  CHECK(documents[0].at("c/n")->text == "2");
  CHECK(documents[0].at("c/m")->line == 7);
  CHECK(documents[1].find("kind")->line == 9);
  CHECK(documents[0].at("b/none") == nullptr);
}

TEST_CASE("broken YAML is refused with its line", "[k8s]") {
  CHECK(fault_of("kind: A\nspec: [1, 2\n").find("job.yaml line 3: is no YAML") == 0);
  CHECK(fault_of("kind: A\nspec:\n\t- x\n").find("line 3") != std::string::npos);
  CHECK(fault_of("kind: A\nkind: B\n").find("line 2: \"kind\" stands twice") != std::string::npos);
  CHECK(fault_of("a: *nowhere\n").find("is no YAML") != std::string::npos);
  // jbeder/yaml-cpp issue 1040: the parser stands still here and adds documents without end
  CHECK(fault_of(",apiVersion: v1\n").find("job.yaml line 1: is no YAML") == 0);
  CHECK(fault_of("kind: A\n---\n,\n").find("job.yaml line 3: is no YAML") == 0);
  CHECK(yaml_documents("kind: A\n---\n---\nkind: B\n", "job.yaml").size() == 2);
}

TEST_CASE("aliases that unfold without end are refused", "[k8s]") {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) bomb += (k > 0 ? ", " : "") + before;
    bomb += "]\n";
  }
  CHECK(fault_of(bomb).find("unfolds to more") != std::string::npos);
}

TEST_CASE("a script's commands are read with its variables and arrays", "[k8s]") {
  const auto commands = commands_of(
      "set -e\n"
      "# torchrun --nproc-per-node 1 old.py\n"
      "TP=8; export PP=4\n"
      "ARGS=(--tensor-model-parallel-size $TP  # width\n"
      "  --name 'a b')\n"
      "ARGS+=(--pp ${PP})\n"
      "MORE=\"--x 1 --y 2\"\n"
      "torchrun --nnodes=${NODES:-3} \\\n"
      "  train.py \"${ARGS[@]}\" $MORE \"$MORE\" $UNSET $(hostname -i) 2>&1 | tee log\n",
      {{"GPUS", {"8"}}});
  REQUIRE(commands.size() == 3);  // set, torchrun, tee
  CHECK(commands[1] == Words{"torchrun", "--nnodes=3", "train.py", "--tensor-model-parallel-size",
                             "8", "--name", "a b", "--pp", "4", "--x", "1", "--y", "2",
                             "--x 1 --y 2", "$UNSET", "$(hostname -i)", "2>&1"});
}

TEST_CASE("unfinished quotes and brackets end with the script", "[k8s]") {
  for (const char* script : {"a 'b", "a \"b", "a ${b", "a $(b", "X=(a", "a \\", "$", "\"$", "("})
    CHECK(commands_of(script, {}).size() <= 1);
}

TEST_CASE("launchers say how many ranks they start", "[k8s]") {
  Reading reading;
  const auto line_of = [&](const Words& words) {
    Pod pod;
    pod.command = words;
    return launch_line(pod, reading);
  };
  const LaunchLine torchrun =
      line_of({"python", "-m", "torch.distributed.run", "--nnodes", "4", "--nproc_per_node=8",
               "--rdzv_backend", "c10d", "train.py", "--lr", "1e-4"});
  CHECK(torchrun.launcher == "torchrun");
  CHECK(torchrun.nodes == 4);
  CHECK(torchrun.per_node == 8);
  CHECK(torchrun.program == "train.py");
  CHECK(torchrun.arguments == Words{"--lr", "1e-4"});

  const LaunchLine mpirun = line_of({"mpirun", "--allow-run-as-root", "-np", "16", "-bind-to",
                                     "none", "-x", "NCCL_ALGO=Ring", "-mca", "pml", "ob1", "python",
                                     "-u", "run.py", "--model=resnet50"});
  CHECK(mpirun.total == 16);
  CHECK(mpirun.program == "run.py");
  CHECK(mpirun.exported == std::vector<std::pair<std::string, std::string>>{{"NCCL_ALGO", "Ring"}});

  CHECK(line_of({"accelerate", "launch", "--num_processes", "16", "--num_machines", "2", "t.py"})
            .total == 16);
  CHECK(line_of({"bash", "-c", "cd /w && exec torchrun --standalone --nproc-per-node=$N t.py"})
            .program == "t.py");
  CHECK(reading.problems.empty());
  line_of({"torchrun", "--nnodes", "many", "t.py"});
  CHECK(reading.problems.size() == 1);
}

TEST_CASE("Megatron's pipeline layout counts layers of each chunk", "[k8s]") {
  CHECK(layers_of_layout("Et*3|t*4|t*4|t*3L") == std::vector<int>{3, 4, 4, 3});
  CHECK(layers_of_layout("Et*2|(tt|)*2t|mL") == std::vector<int>{2, 2, 2, 1, 0});
  CHECK_FALSE(layers_of_layout("Et|x").has_value());
  CHECK_FALSE(layers_of_layout("(t|").has_value());
  CHECK_FALSE(layers_of_layout("t*").has_value());
  CHECK_FALSE(layers_of_layout("((t*9999)*9999)*9999").has_value());
  CHECK(leading_dense_layers("([0]*3+[1]*58)") == 3);
  CHECK_FALSE(leading_dense_layers("([0,1]*30)").has_value());
}
