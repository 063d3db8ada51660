#include "sim/import/k8s/k8s.hpp"

#include <fmt/format.h>

#include "sim/import/common/byte_source.hpp"
#include "sim/import/k8s/parts.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast::k8s {
namespace {
constexpr std::int64_t kLargestManifest = std::int64_t{8} << 20;  // etcd takes 1.5 MiB an object

/// The DeepSpeed configuration among the file's ConfigMaps: a .json entry with its keys.
std::optional<Json> deepspeed_in(const std::vector<Yaml>& documents, Reading& reading) {
  for (const Yaml& document : documents) {
    const Yaml *kind = document.find("kind"), *data = document.find("data");
    if (kind == nullptr || kind->text != "ConfigMap" || data == nullptr) continue;
    for (const auto& [key, value] : data->entries) {
      if (!key.ends_with(".json")) continue;
      const Json content = Json::parse(value.text, nullptr, false, true);
      if (content.is_discarded()) {
        reading.problem(value.line, "ConfigMap entry " + key + " is no JSON");
        continue;
      }
      if (content.is_object() && (content.contains("zero_optimization") ||
                                  content.contains("train_micro_batch_size_per_gpu")))
        return content;
    }
  }
  return std::nullopt;
}

/// "stepcast": 1 first, then the sections in the order in which people read them.
Json ordered(const Json& sections, const Job& job) {
  Json out{{"stepcast", 1}, {"name", job.name}, {"description", "imported from a " + job.kind}};
  for (const char* key : {"model", "training", "parallel", "strategy", "compression", "sync",
                          "collective", "cluster"})
    if (sections.contains(key)) out[key] = sections[key];
  return out;
}

void list_unknown(const Json& scenario, Reading& reading) {
  const auto lacks = [&](const char* pointer) {
    return !scenario.contains(Json::json_pointer(pointer));
  };
  if (scenario.contains("collective")) return;
  if (lacks("/training/global_batch")) reading.unknown.emplace_back("the batch (training)");
  if (lacks("/training/precision")) reading.unknown.emplace_back("the precision (training)");
  if (lacks("/training/sequence_length") && lacks("/training/global_batch"))
    reading.unknown.emplace_back("the sequence length (training)");
}

void check(Json scenario, Reading& reading, Json& out) {
  for (const std::string& setting : reading.settings) {
    const auto applied = apply_setting(scenario, setting);
    if (!applied) reading.problems.add(applied.problems());
  }
  if (!reading.problems.empty()) return;
  const auto loaded = scenario_of(scenario, reading.file);
  if (!loaded) reading.problems.add(loaded.problems());
  out = std::move(scenario);
}

/// --model stands over the sizes that flags state, which then say the same thing twice.
void choose_model(const std::string& wanted, int line, Reading& reading) {
  if (!wanted.empty()) {
    reading.scenario["model"] = {{"preset", wanted}};
    return;
  }
  const Json::json_pointer model("/model");
  if (!reading.scenario.contains(model) && !reading.scenario.contains("collective"))
    reading.problem(line, "nothing in the command says which model is trained",
                    "name it with --model (stepcast list models)");
}
}  // namespace

bool sniff(std::string_view head) {
  const auto has_key = [&](std::string_view key) {
    for (std::size_t at = head.find(key); at != std::string_view::npos;
         at = head.find(key, at + 1)) {
      const char before = at == 0 ? '\n' : head[at - 1];
      const char after = at + key.size() < head.size() ? head[at + key.size()] : '\0';
      if ((before == '\n' && after == ':') || (before == '"' && after == '"')) return true;
    }
    return false;
  };
  return has_key("apiVersion") && has_key("kind");
}

ImportedJob import_job(const std::string& path, const ImportOptions& options) {
  Reading reading;
  reading.settings = options.settings;
  reading.file = path;
  const auto documents = yaml_documents(read_all(path, kLargestManifest), path);
  if (documents.empty()) throw InputError(Problem{path, "", "holds no YAML document", ""});
  const Job job = job_in(documents, options.job, reading);
  if (!reading.problems.empty()) throw InputError(reading.problems);

  const LaunchLine line = launch_line(job.launcher, reading);
  const Flags flags = program_flags(line.arguments);
  apply_annotations(job, reading);
  if (!options.cluster.empty()) reading.scenario["cluster"]["preset"] = options.cluster;
  const std::int64_t world = apply_cluster(job, line, options.cluster, reading);

  if (!apply_nccl_tests(line, flags, job.launcher.line, reading)) {
    const auto config = deepspeed_in(documents, reading);
    apply_strategy(job, line, flags, config.has_value(), reading);
    if (is_megatron(line, flags))
      apply_megatron(flags, world, job.launcher.line, reading);
    else
      apply_program(line, flags, world, job.launcher.line, reading);
    if (config) apply_deepspeed(*config, world, reading);
  }
  apply_environment(job, line, reading);
  choose_model(options.model, job.launcher.line, reading);

  ImportedJob imported{job.kind, job.name, {}, {}, {}, {}, {}};
  list_unknown(reading.scenario, reading);
  check(ordered(reading.scenario, job), reading, imported.scenario);
  if (!reading.problems.empty()) throw InputError(reading.problems);
  imported.read = std::move(reading.read);
  imported.assumed = std::move(reading.assumed);
  imported.unknown = std::move(reading.unknown);
  imported.unused = std::move(reading.unused);
  return imported;
}
}  // namespace stepcast::k8s
