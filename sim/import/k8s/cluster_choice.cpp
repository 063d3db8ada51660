#include <fmt/format.h>

#include <algorithm>

#include "sim/import/k8s/parts.hpp"
#include "sim/launch/gpu_labels.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast::k8s {
namespace {
struct Preset {
  std::string name, gpu;
  int gpus_per_node = 8;
};
std::vector<Preset> cluster_presets() {
  std::vector<Preset> all;
  for (const std::string& name : preset_names("clusters")) {
    const auto content = read_json_file(preset_path("clusters", name));
    if (!content || !content->is_object() || !content->contains("gpu") ||
        !(*content)["gpu"].is_string())
      continue;
    all.push_back({name, (*content)["gpu"].get<std::string>(), content->value("gpus_per_node", 8)});
  }
  return all;
}

bool is_product_label(const std::string& key) {
  return key == "nvidia.com/gpu.product" || key == "amd.com/gpu.product-name" ||
         key == "gpu.nvidia.com/model" || key == "gpu.nvidia.com/class" || key == "accelerator" ||
         key == "k8s.amazonaws.com/accelerator";
}
bool is_machine_label(const std::string& key) {
  return key == "node.kubernetes.io/instance-type" || key == "beta.kubernetes.io/instance-type" ||
         key == "cloud.google.com/gke-accelerator" || key == "cloud.google.com/machine-family";
}

/// Presets of a GPU whose node holds the pod's GPUs; the vendor's reference system first, as its
/// network is the plainest.
std::vector<std::string> presets_of_gpu(const std::string& gpu, int gpus_per_pod) {
  std::vector<std::string> names;
  for (const Preset& preset : cluster_presets())
    if (preset.gpu == gpu && preset.gpus_per_node >= gpus_per_pod) {
      const bool is_reference = preset.name.starts_with("dgx-") || preset.name.ends_with("-8");
      names.insert(is_reference ? names.begin() : names.end(), preset.name);
    }
  return names;
}

/// By machine type where a label says one, else by GPU. "" when neither is said.
std::string preset_by_labels(const Job& job, Reading& reading) {
  for (const Label& label : job.workers.labels)
    if (is_machine_label(label.key))
      if (const std::string cluster = launch::cluster_of_machine(label.value); !cluster.empty()) {
        reading.read.push_back(fmt::format("cluster {} from {}: {} (line {})", cluster, label.key,
                                           label.value, label.line));
        return cluster;
      }
  for (const Label& label : job.workers.labels) {
    if (!is_product_label(label.key) && !is_machine_label(label.key)) continue;
    const std::string gpu = launch::gpu_of_label(label.value);
    if (gpu.empty()) continue;
    const auto presets = presets_of_gpu(gpu, job.workers.gpus);
    if (presets.empty()) {
      reading.problem(label.line,
                      fmt::format("{} means {}, and no cluster preset has {} of them a node",
                                  label.value, gpu, job.workers.gpus),
                      "name a cluster with --cluster");
      return "";
    }
    reading.read.push_back(
        fmt::format("GPU {} from {}: {} (line {})", gpu, label.key, label.value, label.line));
    if (presets.size() > 1)
      reading.assumed.push_back(
          fmt::format("cluster {}: the network is not said; others with this GPU: {} (--cluster)",
                      presets.front(), joined({presets.begin() + 1, presets.end()})));
    return presets.front();
  }
  return "";
}

void set_shape(const std::string& preset, int ranks_per_pod, int nodes, Reading& reading) {
  reading.put("/cluster/preset", preset);
  reading.put("/cluster/nodes", nodes);
  int gpus_per_node = 0;
  for (const Preset& known : cluster_presets())
    if (known.name == preset) gpus_per_node = known.gpus_per_node;
  if (gpus_per_node == 0 || ranks_per_pod == gpus_per_node) return;
  reading.put("/cluster/gpus_per_node", ranks_per_pod);
  if (ranks_per_pod == 1) reading.put("/cluster/intra", "single");
  reading.assumed.push_back(fmt::format(
      "each pod is a node of its own with {} GPU{}, though {} has {}: where the scheduler puts "
      "several pods on a node they share its NICs and talk faster",
      ranks_per_pod, ranks_per_pod == 1 ? "" : "s", preset, gpus_per_node));
}

/// Ranks of a pod: what the launcher's flags say, else the job, else one per GPU.
int ranks_per_pod(const Job& job, const LaunchLine& line, Reading& reading) {
  const int gpus = job.workers.gpus;
  std::int64_t ranks = line.per_node.value_or(job.processes_per_pod);
  if (ranks == 0) ranks = gpus;
  // TensorFlow runs every GPU of a pod from one process; each is a replica all the same.
  if (job.kind == "TFJob") ranks = std::max(1, gpus);
  if (job.kind == "MPIJob" && ranks == 1 && gpus > 1 && !line.per_node) {
    reading.assumed.push_back(
        fmt::format("slotsPerWorker 1 with {} GPUs a pod: one GPU of each pod computes", gpus));
  }
  if (ranks == 0) {
    reading.problem(job.workers.line, "neither GPUs nor processes of a pod are said",
                    "add resources.limits \"nvidia.com/gpu\", or nprocPerNode");
    return 1;
  }
  if (gpus > 0 && ranks > gpus)
    reading.problem(job.workers.line,
                    fmt::format("{} ranks share the {} GPUs of a pod", ranks, gpus),
                    "one rank per GPU is simulated");
  if (gpus > 0 && ranks < gpus && job.kind != "MPIJob")
    reading.assumed.push_back(
        fmt::format("{} of the {} GPUs of a pod compute: so many ranks are started", ranks, gpus));
  return static_cast<int>(std::min<std::int64_t>(ranks, 1 << 20));
}

int nodes_of(const Job& job, const LaunchLine& line, int ranks, Reading& reading) {
  int nodes = job.nodes;
  if (line.nodes && *line.nodes != nodes)
    reading.problem(
        job.launcher.line,
        fmt::format("the launcher starts {} nodes, the job {} pods", *line.nodes, nodes),
        "make them agree");
  if (!line.total) return nodes;
  if (*line.total > std::int64_t{nodes} * ranks || *line.total % ranks != 0)
    reading.problem(job.launcher.line,
                    fmt::format("the launcher starts {} ranks, the job has {} pods of {}",
                                *line.total, nodes, ranks),
                    "make them agree");
  else if (*line.total < std::int64_t{nodes} * ranks) {
    reading.assumed.push_back(fmt::format("{} of {} ranks are started: the other pods idle",
                                          *line.total, std::int64_t{nodes} * ranks));
    nodes = static_cast<int>(*line.total / ranks);
  }
  return nodes;
}
}  // namespace

std::int64_t apply_cluster(const Job& job, const LaunchLine& line, const std::string& wanted,
                           Reading& reading) {
  const int ranks = ranks_per_pod(job, line, reading);
  const int nodes = nodes_of(job, line, ranks, reading);
  reading.read.push_back(fmt::format("{} nodes with {} ranks each, from {} \"{}\" (line {})", nodes,
                                     ranks, job.kind, job.name, job.line));
  std::string preset = wanted;
  if (preset.empty() && reading.scenario.contains(Json::json_pointer("/cluster/preset")))
    preset = reading.scenario["cluster"]["preset"].get<std::string>();
  if (preset.empty()) preset = preset_by_labels(job, reading);
  if (preset.empty()) {
    if (reading.problems.empty())
      reading.problem(job.line, "no node label says which GPUs the pods run on",
                      "name a cluster with --cluster (stepcast list clusters)");
    return 1;
  }
  set_shape(preset, ranks, nodes, reading);
  return std::int64_t{nodes} * ranks;
}
}  // namespace stepcast::k8s
