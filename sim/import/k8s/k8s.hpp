#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/json.hpp"

/// Kubeflow's distributed jobs as Kubernetes manifests, any number of documents in a file:
///
///   apiVersion: kubeflow.org/v1          PyTorchJob (v1), TFJob (v1), MPIJob (v1, v2beta1) or
///   kind: PyTorchJob                     TrainJob (trainer.kubeflow.org/v1alpha1)
///   spec:
///     nprocPerNode: "8"                  ranks of a pod (MPIJob: slotsPerWorker)
///     pytorchReplicaSpecs:
///       Worker: { replicas: 4, template: { spec: { nodeSelector, containers: [ ... ] } } }
///
/// Odd cases: the command may be a shell with a script (variables and arrays are followed), a
/// launcher of its own may contradict the job, a DeepSpeed configuration may stand in a ConfigMap
/// of the same file, anchors share templates, MIN:MAX and "auto" leave numbers open.
namespace stepcast::k8s {
bool sniff(std::string_view head);

struct ImportOptions {
  std::string job;                    // metadata.name, where the file holds several jobs
  std::string cluster, model;         // presets that stand over what the manifest says
  std::vector<std::string> settings;  // /pointer=value, last
};
/// A scenario that `stepcast check` accepts, and how it came about in plain sentences.
struct ImportedJob {
  std::string kind, name;
  Json scenario;
  std::vector<std::string> read, assumed, unknown, unused;
};
/// Throws InputError with file and line for everything that keeps the manifest from being a
/// scenario; what only an option can supply names that option.
ImportedJob import_job(const std::string& path, const ImportOptions& options);
}  // namespace stepcast::k8s
