#pragma once
#include <optional>
#include <string>

/// How Kubernetes nodes say which accelerator and which machine they are.
namespace stepcast::launch {
struct NodeLabel {
  std::string key, value;
};
/// The label that selects nodes of a catalogue GPU; nullopt where none is known.
std::optional<NodeLabel> label_of_gpu(const std::string& gpu);
/// The catalogue GPU that a product label means ("NVIDIA-H100-80GB-HBM3" -> h100-sxm5-80g), by the
/// words they share; "" where no family fits.
std::string gpu_of_label(const std::string& value);
/// The cluster preset of a cloud's machine type or accelerator name ("p5.48xlarge" -> aws-p5); ""
/// where none fits.
std::string cluster_of_machine(const std::string& value);
/// Resource name of a GPU's vendor in a pod's limits.
std::string gpu_resource(const std::string& gpu);
}  // namespace stepcast::launch
