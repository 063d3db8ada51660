#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sim/core/result.hpp"
#include "sim/import/k8s/k8s.hpp"
#include "sim/io/json.hpp"
#include "sim/scenario/scenario.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
std::string file_with(const std::string& yaml) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("stepcast_job_" + std::to_string(getpid()) + ".yaml");
  std::ofstream(path) << yaml;
  return path.string();
}
k8s::ImportedJob imported(const std::string& yaml, const k8s::ImportOptions& options = {}) {
  const std::string path = file_with(yaml);
  try {
    k8s::ImportedJob job = k8s::import_job(path, options);
    std::filesystem::remove(path);
    return job;
  } catch (...) {
    std::filesystem::remove(path);
    throw;
  }
}
Scenario scenario(const k8s::ImportedJob& job) {
  return scenario_of(job.scenario, "imported.json").value_or_throw();
}
void require_refused(const std::string& yaml, const std::string& sentence,
                     const k8s::ImportOptions& options = {}) {
  try {
    imported(yaml, options);
    FAIL("was not refused");
  } catch (const InputError& e) {
    INFO(e.what());
    REQUIRE(std::string(e.what()).find(sentence) != std::string::npos);
  }
}
bool says(const std::vector<std::string>& sentences, const std::string& part) {
  return std::any_of(sentences.begin(), sentences.end(),
                     [&](const std::string& s) { return s.find(part) != std::string::npos; });
}
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

const std::string kMegatron = R"(apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: gpt
spec:
  nprocPerNode: "8"
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template: &pod
        spec:
          nodeSelector:
            nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3
          containers:
            - name: pytorch
              image: nemo
              env:
                - {name: TP, value: "4"}
                - {name: NCCL_ALGO, value: Ring}
              command: [bash, -c]
              args:
                - |
                  MODEL="--num-layers 48 --hidden-size 6144 --num-attention-heads 64
                    --vocab-size 51200 --seq-length 2048 --max-position-embeddings 2048"
                  torchrun pretrain_gpt.py $MODEL \
                    --tensor-model-parallel-size $TP --pipeline-model-parallel-size 2 \
                    --micro-batch-size 2 --global-batch-size 128 --bf16 --sequence-parallel \
                    --use-distributed-optimizer --recompute-granularity selective --lr 1e-4
              resources: {limits: {nvidia.com/gpu: 8}}
    Worker:
      replicas: 3
      template: *pod
)";
const std::string kMpi = R"(apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: resnet}
spec:
  slotsPerWorker: 8
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers:
          - name: mpi
            command: [mpirun, -np, "16", -x, "HOROVOD_FUSION_THRESHOLD=67108864"]
            args: [python, tf_cnn_benchmarks.py, --model=resnet50, --batch_size=64,
                   --variable_update=horovod]
    Worker:
      replicas: 2
      template:
        spec:
          nodeSelector: {node.kubernetes.io/instance-type: p4d.24xlarge}
          containers:
          - name: worker
            resources: {limits: {nvidia.com/gpu: 8}}
)";
const std::string kTensorFlow = R"(apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: vgg}
spec:
  tfReplicaSpecs:
    PS: {replicas: 4, template: {spec: {containers: [{name: tensorflow}]}}}
    Chief: {replicas: 1, template: {spec: {containers: [{name: tensorflow}]}}}
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - name: tensorflow
            command: [python, train.py, --model, vgg16]
            resources: {limits: {nvidia.com/gpu: 8}}
)";
}  // namespace

TEST_CASE("a Megatron job in a shell becomes its layout and model", "[k8s]") {
  const auto job = imported(kMegatron);
  const Scenario s = scenario(job);
  CHECK(s.cluster.nodes() == 4);
  CHECK(s.cluster.gpus() == 32);
  CHECK(s.cluster.name == "dgx-h100-ib400");
  CHECK(s.parallel.tp == 4);
  CHECK(s.parallel.pp == 2);
  CHECK(s.parallel.dp == 4);  // 32 / (4 x 2)
  CHECK(s.parallel.zero_stage == 1);
  CHECK(s.parallel.sequence_parallel);
  CHECK(s.model.transformer.layers == 48);
  CHECK(s.model.transformer.max_positions == 2048);
  CHECK(s.training.micro_batch == 2);
  CHECK(s.training.global_batch == 128);
  CHECK(s.training.recompute == Recompute::selective);
  CHECK_FALSE(s.strategy.overlap_grad_reduce);  // the flag is not there
  CHECK(s.strategy.collective_algorithm == Algorithm::ring);
  CHECK(says(job.assumed, "the network is not said"));
  CHECK(says(job.unused, "--lr"));
}

TEST_CASE("an MPIJob of Horovod has the launcher's ranks and the machine's cluster", "[k8s]") {
  const auto job = imported(kMpi);
  const Scenario s = scenario(job);
  CHECK(s.cluster.name == "aws-p4d");
  CHECK(s.parallel.dp == 16);
  CHECK(s.model.name == "resnet-50");
  CHECK(s.training.micro_batch == 64);
  CHECK(s.training.global_batch == 1024);  // 64 images on each of 16 devices
  CHECK(s.strategy.preset == "horovod");
  CHECK(s.strategy.bucket_bytes.value == 64 << 20);
  CHECK(s.training.precision == Precision::fp32);
  require_refused(replaced(kMpi, "\"16\"", "\"24\""), "the launcher starts 24 ranks");
  // Fewer ranks than slots: the other pod idles, and that is said.
  const auto half = imported(replaced(kMpi, "\"16\"", "\"8\""));
  CHECK(scenario(half).cluster.nodes() == 1);
  CHECK(says(half.assumed, "8 of 16 ranks"));
}

TEST_CASE("a TFJob with PS is an asynchronous parameter server", "[k8s]") {
  require_refused(kTensorFlow, "name a cluster with --cluster");
  const auto job =
      imported(kTensorFlow, {.job = {}, .cluster = "dgx-a100-ib200", .model = {}, .settings = {}});
  const Scenario s = scenario(job);
  CHECK(s.sync.server.count == 4);
  CHECK(s.sync.mode == SyncMode::async);
  CHECK(s.cluster.nodes() == 2);  // the chief has no GPU and computes nothing
  CHECK(s.model.name == "vgg-16");
  CHECK(says(job.unknown, "network rate"));
}

TEST_CASE("a TFJob without PS is MultiWorkerMirrored over chief and workers", "[k8s]") {
  std::string yaml = kTensorFlow;
  yaml = replaced(
      yaml, "    PS: {replicas: 4, template: {spec: {containers: [{name: tensorflow}]}}}\n", "");
  yaml = replaced(yaml, "containers: [{name: tensorflow}]",
                  "containers: [{name: tensorflow, resources: {limits: {nvidia.com/gpu: 8}}}]");
  const Scenario s = scenario(
      imported(yaml, {.job = {}, .cluster = "dgx-a100-ib200", .model = {}, .settings = {}}));
  CHECK(s.strategy.preset == "tf-multiworker");
  CHECK(s.cluster.nodes() == 3);
}

TEST_CASE("nccl-tests under MPI is a sweep of sizes", "[k8s]") {
  std::string yaml = replaced(kMpi,
                              "[python, tf_cnn_benchmarks.py, --model=resnet50, --batch_size=64,\n "
                              "                  --variable_update=horovod]",
                              "[all_reduce_perf, -b, \"8\", -e, 16G, -f, \"2\", -g, \"1\"]");
  const Scenario s = scenario(imported(yaml));
  REQUIRE(s.collective_sweep.has_value());
  CHECK(s.collective_sweep->collective == Collective::all_reduce);
  CHECK(s.collective_sweep->sizes.front().value == 8);
  CHECK(s.collective_sweep->sizes.back().value == std::int64_t{16} << 30);
}

TEST_CASE("a TrainJob takes from its runtime what it leaves out", "[k8s]") {
  const std::string yaml = R"(apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llama}
spec:
  runtimeRef: {name: torch}
  trainer:
    numNodes: 2
    command: [torchrun, sft.py, --model_name_or_path, meta-llama/Meta-Llama-3-8B, --fsdp, full_shard,
              --per_device_train_batch_size, "2", --gradient_accumulation_steps, "4", --bf16, "True"]
    resourcesPerNode: {limits: {nvidia.com/gpu: "8"}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch}
spec: {mlPolicy: {numNodes: 1, torch: {numProcPerNode: 8}}}
)";
  const Scenario s = scenario(imported(yaml, {.job = {},
                                              .cluster = "aws-p5",
                                              .model = {},
                                              .settings = {"/training/sequence_length=2048"}}));
  CHECK(s.model.name == "llama3-8b");
  CHECK(s.strategy.preset == "fsdp");
  CHECK(s.training.global_batch == 128);  // 2 x 4 x 16 ranks
  CHECK(s.training.sequence_length == 2048);
}

TEST_CASE("kinds and fields that are not known get the nearest name and the line", "[k8s]") {
  require_refused(
      replaced(kMegatron, "kind: PyTorchJob", "kind: PytorchJobs"),
      "line 2: kind \"PytorchJobs\" is not a job that is read; did you mean PyTorchJob?");
  require_refused("apiVersion: batch/v1\nkind: Deployment\n", "known are PyTorchJob, TFJob");
  require_refused(replaced(kMegatron, "    Worker:", "    Workers:"), "did you mean Worker?");
  require_refused(replaced(kMegatron, "replicas: 3", "replicas: three"),
                  "line 31: Worker.replicas: found \"three\"");
  require_refused(replaced(kMegatron, "kubeflow.org/v1", "batch/v1"), "line 1: apiVersion");
  require_refused(replaced(kMegatron, "--micro-batch-size 2", "--micro-batch-size two"),
                  "--micro-batch-size: found \"two\"");
  require_refused(
      replaced(kMegatron, "--pipeline-model-parallel-size 2", "--pipeline-model-parallel-size 3"),
      "does not divide the 32 GPUs");
  require_refused(kMegatron + "---\n" + kMpi, "holds 2 jobs: gpt, resnet");
  require_refused(kMegatron + "---\n" + kMpi, "did you mean gpt?",
                  {.job = "gtp", .cluster = {}, .model = {}, .settings = {}});
}

TEST_CASE("a model that the command does not name is asked for and not made up", "[k8s]") {
  const std::string yaml = replaced(kMpi, "--model=resnet50, ", "");
  require_refused(yaml, "name it with --model");
  CHECK(scenario(imported(yaml, {.job = {}, .cluster = {}, .model = "vgg-16", .settings = {}}))
            .model.name == "vgg-16");
  const std::string silent = replaced(kMegatron, "--vocab-size 51200", "");
  require_refused(silent, "--set /model/vocab=N");
  CHECK(scenario(
            imported(silent,
                     {.job = {}, .cluster = {}, .model = {}, .settings = {"/model/vocab=32000"}}))
            .model.transformer.vocab == 32000);
}

TEST_CASE("manifests are told from other text by their keys", "[k8s]") {
  CHECK(k8s::sniff(kMegatron));
  CHECK(k8s::sniff("{\"apiVersion\": \"kubeflow.org/v1\", \"kind\": \"TFJob\"}"));
  CHECK_FALSE(k8s::sniff("kind: A\n"));
  CHECK_FALSE(k8s::sniff("my apiVersion: 1\nkind: A\n"));
}
