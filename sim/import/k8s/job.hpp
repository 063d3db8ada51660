#pragma once
#include <string>
#include <vector>

#include "sim/import/k8s/pod.hpp"

namespace stepcast::k8s {
/// One distributed job as its operator understands it.
struct Job {
  std::string kind, name;
  int line = 0;
  int nodes = 0;              // pods that compute
  int servers = 0;            // TFJob: parameter servers
  int processes_per_pod = 0;  // nprocPerNode, slotsPerWorker, numProcPerNode; 0: not said
  Pod workers;                // the pods that hold the GPUs
  Pod launcher;               // MPIJob: whose command starts all ranks; else the workers' own
  const Yaml* annotations = nullptr;
};
/// "PyTorchJob", "TFJob", "MPIJob", "TrainJob"
const std::vector<std::string>& job_kinds();
/// The job that the documents hold; `wanted` names one of several ("" = there is only one). Other
/// Kubernetes objects are passed over. Problems go to `reading`.
Job job_in(const std::vector<Yaml>& documents, const std::string& wanted, Reading& reading);
}  // namespace stepcast::k8s
