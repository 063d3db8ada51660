#include <fmt/format.h>

#include "sim/launch/gpu_labels.hpp"
#include "sim/launch/plan.hpp"
#include "sim/launch/quoting.hpp"

namespace stepcast::launch {
namespace {
constexpr const char* kConfigFolder = "/etc/deepspeed";
constexpr const char* kConfigKey = "ds_config.json";

/// Lines with their depth, two spaces each.
class Lines {
 public:
  void add(int depth, const std::string& line) {
    text_ += std::string(static_cast<std::size_t>(2 * depth), ' ') + line + "\n";
  }
  void list(int depth, const std::string& key, const std::vector<std::string>& words) {
    if (words.empty()) return;
    add(depth, key + ":");
    for (const std::string& word : words) add(depth + 1, "- " + yaml_quoted(word));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::vector<std::string> program_words(const Plan& plan) {
  std::vector<std::string> words{plan.script};
  for (const ArgumentGroup& group : plan.arguments)
    for (const auto& flag : group.flags) words.insert(words.end(), flag.begin(), flag.end());
  if (plan.deepspeed) {
    words.emplace_back("--deepspeed");
    words.emplace_back("--deepspeed_config");
    words.push_back(std::string(kConfigFolder) + "/" + kConfigKey);
  }
  return words;
}

class Manifest {
 public:
  Manifest(const Scenario& scenario, const Plan& plan, const LaunchOptions& options,
           Findings& findings)
      : s_(scenario), plan_(plan), options_(options), findings_(findings) {}

  std::string text() {
    if (plan_.has_gpus) {
      label_ = label_of_gpu(gpu());
      if (!label_)
        findings_.warn("/cluster/gpu",
                       "no node label is known for " + gpu() + "; the pods may land on other GPUs");
    }
    if (options_.image == LaunchOptions{}.image)
      findings_.warn("--image", "was not given; replace the image \"IMAGE\"");
    switch (plan_.program) {
      case Program::horovod:
        write_mpi_job();
        break;
      case Program::tensorflow:
        write_tf_job();
        break;
      default:
        write_pytorch_job();
        break;
    }
    if (plan_.deepspeed) write_config_map();
    return header_comment(s_, plan_, findings_, about_) + out_.text();
  }

 private:
  const std::string& gpu() const { return s_.cluster.groups.front().spec.gpu.name; }

  void begin(const std::string& api, const std::string& kind, const std::string& about) {
    about_ = "kubectl create -f THIS_FILE. " + about;
    out_.add(0, "apiVersion: " + api);
    out_.add(0, "kind: " + kind);
    out_.add(0, "metadata:");
    out_.add(1, "name: " + yaml_quoted(plan_.name));
    out_.add(1, "annotations:  # read back by stepcast import k8s");
    const Json sections = carried_sections(s_, plan_);
    for (const auto& [key, value] : sections.items())
      out_.add(2, "stepcast-" + key + ": " +
                      yaml_quoted(value.is_string() ? value.get<std::string>() : value.dump()));
    out_.add(0, "spec:");
  }

  void add_container(int depth, const std::string& name, const std::vector<std::string>& command,
                     const std::vector<std::string>& arguments, bool computes) {
    if (computes && label_) {
      out_.add(depth, "nodeSelector:");
      out_.add(depth + 1, label_->key + ": " + yaml_quoted(label_->value));
    }
    out_.add(depth, "containers:");
    out_.add(depth + 1, "- name: " + name);
    out_.add(depth + 2, "image: " + yaml_quoted(options_.image));
    out_.list(depth + 2, "command", command);
    out_.list(depth + 2, "args", arguments);
    if (!plan_.environment.empty()) {
      out_.add(depth + 2, "env:");
      for (const auto& [key, value] : plan_.environment) {
        out_.add(depth + 3, "- name: " + key);
        out_.add(depth + 4, "value: " + yaml_quoted(value));
      }
    }
    if (computes && plan_.has_gpus) {
      out_.add(depth + 2, "resources:");
      out_.add(depth + 3, "limits:");
      out_.add(depth + 4, fmt::format("{}: {}", gpu_resource(gpu()), plan_.processes_per_node));
    }
    if (plan_.deepspeed && computes) {
      out_.add(depth + 2, "volumeMounts:");
      out_.add(depth + 3, "- name: deepspeed");
      out_.add(depth + 4, std::string("mountPath: ") + kConfigFolder);
      out_.add(depth, "volumes:");
      out_.add(depth + 1, "- name: deepspeed");
      out_.add(depth + 2, "configMap:");
      out_.add(depth + 3, "name: " + yaml_quoted(config_name()));
    }
  }

  void begin_replicas(const std::string& type, int count) {
    out_.add(2, type + ":");
    out_.add(3, fmt::format("replicas: {}", count));
    out_.add(3, "restartPolicy: OnFailure");
  }

  // The operator hands nnodes, nproc-per-node, node rank and master to torchrun as PET_ variables
  // (training-operator 1.7 and later).
  void write_pytorch_job() {
    begin("kubeflow.org/v1", "PyTorchJob",
          "Fields: training-operator v1, pkg/apis/kubeflow.org/v1 at 2f18ab7a");
    out_.add(1, "nprocPerNode: " + yaml_quoted(std::to_string(plan_.processes_per_node)));
    out_.add(1, "pytorchReplicaSpecs:");
    begin_replicas("Master", 1);
    out_.add(3, plan_.nodes > 1 ? "template: &pod" : "template:");
    out_.add(4, "spec:");
    add_container(5, "pytorch", {"torchrun"}, program_words(plan_), true);
    if (plan_.nodes == 1) return;
    begin_replicas("Worker", plan_.nodes - 1);
    out_.add(3, "template: *pod");
  }

  void write_mpi_job() {
    begin("kubeflow.org/v2beta1", "MPIJob",
          "Fields: mpi-operator v2beta1, deploy/v2beta1/mpi-operator.yaml");
    out_.add(1, fmt::format("slotsPerWorker: {}", plan_.processes_per_node));
    out_.add(1, "mpiReplicaSpecs:");
    begin_replicas("Launcher", 1);
    out_.add(3, "template:");
    out_.add(4, "spec:");
    std::vector<std::string> words{
        "-np",      std::to_string(plan_.nodes * plan_.processes_per_node),
        "-bind-to", "none",
        "-map-by",  "slot"};
    for (const auto& [key, value] : plan_.environment) {
      words.emplace_back("-x");
      words.push_back(key);
    }
    words.emplace_back("python");
    for (const std::string& word : program_words(plan_)) words.push_back(word);
    add_container(5, "launcher", {"mpirun"}, words, false);
    begin_replicas("Worker", plan_.nodes);
    out_.add(3, "template:");
    out_.add(4, "spec:");
    add_container(5, "worker", {}, {}, true);
  }

  // One process a pod computes on all of its GPUs; the operator sets TF_CONFIG.
  void write_tf_job() {
    begin("kubeflow.org/v1", "TFJob",
          "Fields: training-operator v1, pkg/apis/kubeflow.org/v1 at 2c099d5d");
    out_.add(1, "tfReplicaSpecs:");
    if (s_.sync.has_servers()) {
      begin_replicas("PS", s_.sync.server.count);
      out_.add(3, "template:");
      out_.add(4, "spec:");
      add_container(5, "tensorflow", {"python"}, program_words(plan_), false);
      // ParameterServerStrategy's coordinator, which computes nothing.
      begin_replicas("Chief", 1);
      out_.add(3, "template:");
      out_.add(4, "spec:");
      add_container(5, "tensorflow", {"python"}, program_words(plan_), false);
    }
    begin_replicas("Worker", plan_.nodes);
    out_.add(3, "template:");
    out_.add(4, "spec:");
    add_container(5, "tensorflow", {"python"}, program_words(plan_), true);
  }

  std::string config_name() const { return dns_label(plan_.name.substr(0, 50) + "-deepspeed"); }
  void write_config_map() {
    out_.add(0, "---");
    out_.add(0, "apiVersion: v1");
    out_.add(0, "kind: ConfigMap");
    out_.add(0, "metadata:");
    out_.add(1, "name: " + yaml_quoted(config_name()));
    out_.add(0, "data:");
    out_.add(1, std::string(kConfigKey) + ": " + yaml_quoted(plan_.deepspeed->dump()));
  }

  const Scenario& s_;
  const Plan& plan_;
  const LaunchOptions& options_;
  Findings& findings_;
  std::optional<NodeLabel> label_;
  std::string about_;
  Lines out_;
};
}  // namespace

std::string k8s_manifest(const Scenario& scenario, const Plan& plan, const LaunchOptions& options,
                         Findings& findings) {
  return Manifest(scenario, plan, options, findings).text();
}
}  // namespace stepcast::launch
