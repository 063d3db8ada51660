#include "sim/import/k8s/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace stepcast::k8s {
namespace {
/// Operators accept replica types in any case ("worker", "PS").
const Yaml* replica_of(const Yaml& specs, std::string_view type) {
  for (const auto& [key, value] : specs.entries)
    if (std::equal(key.begin(), key.end(), type.begin(), type.end(), [](char a, char b) {
          return std::tolower(static_cast<unsigned char>(a)) ==
                 std::tolower(static_cast<unsigned char>(b));
        }))
      return &value;
  return nullptr;
}

int replicas_of(const Yaml& replica, const std::string& type, Reading& reading) {
  const Yaml* count = replica.find("replicas");
  if (count == nullptr) return 1;  // the operators' default
  return static_cast<int>(std::min<std::int64_t>(
      whole_number(*count, type + ".replicas", 0, reading).value_or(0), 1 << 20));
}

const Yaml& template_of(const Yaml& replica, const std::string& type, Reading& reading) {
  static const Yaml none;
  if (const Yaml* pod_template = replica.find("template")) return *pod_template;
  reading.problem(replica.line, type + ": has no template");
  return none;
}

void refuse_unknown_types(const Yaml& specs, const std::vector<std::string>& known,
                          Reading& reading) {
  for (const auto& [key, value] : specs.entries) {
    if (std::any_of(known.begin(), known.end(),
                    [&](const std::string& type) { return replica_of(specs, type) == &value; }))
      continue;
    const std::string near = nearest_name(key, known);
    reading.problem(value.line, "\"" + key + "\" is no replica type of this job",
                    near.empty() ? "known are " + joined(known) : "did you mean " + near + "?");
  }
}

const Yaml* specs_of(const Yaml& document, const std::string& key, Reading& reading) {
  const Yaml* specs = document.at("spec/" + key);
  if (specs == nullptr || !specs->is_map() || specs->entries.empty()) {
    reading.problem(document.line, "spec." + key + " is missing", "it holds the replicas");
    return nullptr;
  }
  return specs;
}

int processes_named(const Yaml* value, const std::string& name, Reading& reading) {
  if (value == nullptr || value->text == "auto" || value->text == "gpu") return 0;
  if (value->text == "cpu") {
    reading.problem(value->line, name + ": cpu starts a rank per core, whose number is not said",
                    "state a number");
    return 0;
  }
  return static_cast<int>(
      std::min<std::int64_t>(whole_number(*value, name, 1, reading).value_or(0), 1 << 20));
}

void read_pytorch_job(const Yaml& document, Job& job, Reading& reading) {
  const Yaml* specs = specs_of(document, "pytorchReplicaSpecs", reading);
  if (specs == nullptr) return;
  refuse_unknown_types(*specs, {"Master", "Worker"}, reading);
  const Yaml* chosen = nullptr;
  std::string chosen_type;
  for (const char* type : {"Master", "Worker"})
    if (const Yaml* replica = replica_of(*specs, type)) {
      job.nodes += replicas_of(*replica, type, reading);
      if (chosen == nullptr) {
        chosen = replica;
        chosen_type = type;
      }
    }
  if (chosen != nullptr)
    job.workers = job.launcher =
        read_pod(template_of(*chosen, chosen_type, reading), "pytorch", reading);
  job.processes_per_pod =
      processes_named(document.at("spec/nprocPerNode"), "nprocPerNode", reading);
  if (const Yaml* elastic = document.at("spec/elasticPolicy")) {
    if (job.processes_per_pod == 0)
      job.processes_per_pod =
          processes_named(elastic->find("nProcPerNode"), "nProcPerNode", reading);
    reading.assumed.push_back(fmt::format("the job is elastic (line {}); its {} replicas are taken",
                                          elastic->line, job.nodes));
  }
}

void read_tf_job(const Yaml& document, Job& job, Reading& reading) {
  const Yaml* specs = specs_of(document, "tfReplicaSpecs", reading);
  if (specs == nullptr) return;
  refuse_unknown_types(*specs, {"Chief", "Master", "Worker", "PS", "Evaluator"}, reading);
  if (const Yaml* servers = replica_of(*specs, "PS"))
    job.servers = replicas_of(*servers, "PS", reading);
  for (const char* type : {"Worker", "Chief", "Master"})
    if (const Yaml* replica = replica_of(*specs, type)) {
      const Pod pod = read_pod(template_of(*replica, type, reading), "tensorflow", reading);
      // Beside parameter servers a chief without GPUs coordinates and computes nothing.
      if (job.nodes > 0 && pod.gpus == 0 && job.workers.gpus > 0) continue;
      if (job.nodes == 0) job.workers = job.launcher = pod;
      job.nodes += replicas_of(*replica, type, reading);
    }
  if (replica_of(*specs, "Evaluator") != nullptr)
    reading.unused.emplace_back("Evaluator (it takes no part in a step)");
}

void read_mpi_job(const Yaml& document, Job& job, Reading& reading) {
  const Yaml* specs = specs_of(document, "mpiReplicaSpecs", reading);
  if (specs == nullptr) return;
  refuse_unknown_types(*specs, {"Launcher", "Worker"}, reading);
  if (const Yaml* launcher = replica_of(*specs, "Launcher"))
    job.launcher = read_pod(template_of(*launcher, "Launcher", reading), "mpi", reading);
  else
    reading.problem(specs->line, "mpiReplicaSpecs has no Launcher", "its command starts the ranks");
  if (const Yaml* workers = replica_of(*specs, "Worker")) {
    job.nodes = replicas_of(*workers, "Worker", reading);
    job.workers = read_pod(template_of(*workers, "Worker", reading), "mpi", reading);
  } else {
    reading.problem(specs->line, "mpiReplicaSpecs has no Worker");
  }
  const Yaml* slots = document.at("spec/slotsPerWorker");
  job.processes_per_pod = slots == nullptr ? 1 : processes_named(slots, "slotsPerWorker", reading);
}

/// Kubeflow Trainer v2: what the job leaves out stands in its runtime, which may be in the same
/// file.
void read_train_job(const Yaml& document, const std::vector<Yaml>& documents, Job& job,
                    Reading& reading) {
  const Yaml* trainer = document.at("spec/trainer");
  const Yaml* runtime_name = document.at("spec/runtimeRef/name");
  const Yaml* runtime = nullptr;
  for (const Yaml& other : documents) {
    const Yaml *kind = other.find("kind"), *name = other.at("metadata/name");
    if (kind != nullptr && kind->text.ends_with("TrainingRuntime") && name != nullptr &&
        runtime_name != nullptr && name->text == runtime_name->text)
      runtime = &other;
  }
  const auto said = [&](const char* in_trainer, const char* in_runtime) {
    const Yaml* value = trainer == nullptr ? nullptr : trainer->find(in_trainer);
    return value != nullptr || runtime == nullptr ? value : runtime->at(in_runtime);
  };
  if (const Yaml* nodes = said("numNodes", "spec/mlPolicy/numNodes"))
    job.nodes = static_cast<int>(whole_number(*nodes, "numNodes", 1, reading).value_or(0));
  else
    reading.problem(document.line, "spec.trainer.numNodes is not said, nor is the runtime here",
                    "add it, or put the TrainingRuntime into the file");
  job.processes_per_pod = processes_named(
      said("numProcPerNode", "spec/mlPolicy/torch/numProcPerNode"), "numProcPerNode", reading);
  if (trainer != nullptr)
    read_container(*trainer, trainer->find("resourcesPerNode"), job.workers, reading);
  job.launcher = job.workers;
}

void read_job(const Yaml& document, const std::vector<Yaml>& documents, Job& job,
              Reading& reading) {
  if (job.kind == "PyTorchJob")
    read_pytorch_job(document, job, reading);
  else if (job.kind == "TFJob")
    read_tf_job(document, job, reading);
  else if (job.kind == "MPIJob")
    read_mpi_job(document, job, reading);
  else
    read_train_job(document, documents, job, reading);
}

bool has_job_kind(const Yaml& document) {
  const Yaml* kind = document.find("kind");
  return kind != nullptr &&
         std::find(job_kinds().begin(), job_kinds().end(), kind->text) != job_kinds().end();
}

[[noreturn]] void refuse_kinds(const std::vector<Yaml>& documents, const std::string& file) {
  for (const Yaml& document : documents) {
    const Yaml* kind = document.find("kind");
    if (kind == nullptr) continue;
    const std::string near = nearest_name(kind->text, job_kinds());
    throw InputError(
        Problem{file, fmt::format("line {}", kind->line),
                "kind \"" + kind->text + "\" is not a job that is read",
                near.empty() ? "known are " + joined(job_kinds()) : "did you mean " + near + "?"});
  }
  throw InputError(Problem{file, "", "holds no Kubernetes object with a kind",
                           "known are " + joined(job_kinds())});
}
}  // namespace

const std::vector<std::string>& job_kinds() {
  static const std::vector<std::string> kinds{"PyTorchJob", "TFJob", "MPIJob", "TrainJob"};
  return kinds;
}

Job job_in(const std::vector<Yaml>& documents, const std::string& wanted, Reading& reading) {
  const Yaml* chosen = nullptr;
  std::vector<std::string> names;
  for (const Yaml& document : documents) {
    if (!has_job_kind(document)) continue;
    const Yaml* name = document.at("metadata/name");
    names.push_back(name == nullptr ? "" : name->text);
    if (wanted.empty() || wanted == names.back()) chosen = &document;
  }
  if (names.empty()) refuse_kinds(documents, reading.file);
  if (wanted.empty() && names.size() > 1)
    throw InputError(Problem{reading.file, "",
                             fmt::format("holds {} jobs: {}", names.size(), joined(names)),
                             "name one with --job"});
  if (chosen == nullptr) {
    const std::string near = nearest_name(wanted, names);
    throw InputError(
        Problem{reading.file, "", "has no job \"" + wanted + "\"",
                near.empty() ? "it has " + joined(names) : "did you mean " + near + "?"});
  }
  Job job;
  job.kind = chosen->find("kind")->text;
  job.line = chosen->find("kind")->line;
  if (const Yaml* name = chosen->at("metadata/name")) job.name = name->text;
  job.annotations = chosen->at("metadata/annotations");
  const Yaml* api = chosen->find("apiVersion");
  const std::string group = job.kind == "TrainJob" ? "trainer.kubeflow.org/" : "kubeflow.org/";
  if (api == nullptr || !api->text.starts_with(group))
    reading.problem(api == nullptr ? chosen->line : api->line,
                    "apiVersion " + (api == nullptr ? "is missing" : "\"" + api->text + "\"") +
                        ", expected " + group + "v... for a " + job.kind);
  read_job(*chosen, documents, job, reading);
  if (job.nodes == 0 && reading.problems.empty())
    reading.problem(job.line, "the job has no replica that computes");
  return job;
}
}  // namespace stepcast::k8s
