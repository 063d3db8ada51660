#include "sim/import/k8s/pod.hpp"

#include <fmt/format.h>

#include <charconv>

namespace stepcast::k8s {
namespace {
constexpr std::string_view kResources[] = {"nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi",
                                           "google.com/tpu", "aws.amazon.com/neuron"};

int gpus_of(const Yaml* resources, std::string& resource, Reading& reading) {
  if (resources == nullptr) return 0;
  for (const char* part : {"limits", "requests"}) {
    const Yaml* amounts = resources->find(part);
    if (amounts == nullptr) continue;
    for (const auto& [key, value] : amounts->entries) {
      if (key.starts_with("nvidia.com/mig-"))
        reading.problem(value.line, key + ": slices of a GPU have no profile here",
                        "whole GPUs are known");
      for (const std::string_view known : kResources) {
        if (key != known) continue;
        resource = key;
        return static_cast<int>(whole_number(value, key, 0, reading).value_or(0));
      }
    }
  }
  return 0;
}

/// $(NAME) in command and args is replaced by kubelet from the container's environment.
std::string expanded(std::string word, const Pod& pod) {
  for (const auto& [name, value] : pod.environment) {
    const std::string mark = "$(" + name + ")";
    for (std::size_t at = word.find(mark); at != std::string::npos;
         at = word.find(mark, at + value.size()))
      word.replace(at, mark.size(), value);
  }
  return word;
}

const Yaml* training_container(const Yaml& containers, const std::string& name) {
  const Yaml* with_gpus = nullptr;
  for (const Yaml& container : containers.items) {
    const Yaml* own = container.find("name");
    if (own != nullptr && own->text == name) return &container;
    for (const std::string_view resource : kResources)
      for (const char* part : {"resources/limits", "resources/requests"})
        if (const Yaml* amounts = container.at(part);
            amounts != nullptr && amounts->find(resource) != nullptr && with_gpus == nullptr)
          with_gpus = &container;
  }
  return with_gpus != nullptr ? with_gpus : &containers.items.front();
}

void read_labels(const Yaml& spec, Pod& pod) {
  if (const Yaml* selector = spec.find("nodeSelector"))
    for (const auto& [key, value] : selector->entries)
      pod.labels.push_back({key, value.text, value.line});
  const Yaml* terms = spec.at(
      "affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms");
  if (terms == nullptr) return;
  for (const Yaml& term : terms->items) {
    const Yaml* expressions = term.find("matchExpressions");
    if (expressions == nullptr) continue;
    for (const Yaml& e : expressions->items) {
      const Yaml *key = e.find("key"), *op = e.find("operator"), *values = e.find("values");
      if (key != nullptr && op != nullptr && op->text == "In" && values != nullptr &&
          values->items.size() == 1)
        pod.labels.push_back({key->text, values->items[0].text, values->items[0].line});
    }
  }
}
}  // namespace

std::optional<std::int64_t> whole_number(const std::string& text, std::int64_t least) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() || value < least ||
      value > kMost)
    return std::nullopt;
  return value;
}

std::optional<std::int64_t> whole_number(const Yaml& value, const std::string& name,
                                         std::int64_t least, Reading& reading) {
  const auto number =
      value.is_scalar() ? whole_number(value.text, least) : std::optional<std::int64_t>();
  if (!number)
    reading.problem(
        value.line,
        fmt::format("{}: found {}, expected a whole number of at least {}", name,
                    value.is_scalar() ? "\"" + value.text.substr(0, 60) + "\"" : "no scalar",
                    least));
  return number;
}

bool is_open(const std::string& text) { return text.find('$') != std::string::npos; }

void read_container(const Yaml& container, const Yaml* resources, Pod& pod, Reading& reading) {
  pod.line = container.line;
  if (const Yaml* environment = container.find("env"))
    for (const Yaml& entry : environment->items) {
      const Yaml *name = entry.find("name"), *value = entry.find("value");
      if (name != nullptr && value != nullptr)
        pod.environment.emplace_back(name->text, value->text);
    }
  for (const char* key : {"command", "args"}) {
    const Yaml* words = container.find(key);
    if (words == nullptr) continue;
    if (!words->is_list()) {
      reading.problem(words->line, std::string(key) + ": found no list, expected a list of words",
                      "[\"torchrun\", \"train.py\"]");
      continue;
    }
    if (std::string_view(key) == "command" || pod.command.empty()) pod.line = words->line;
    for (const Yaml& word : words->items) pod.command.push_back(expanded(word.text, pod));
  }
  pod.gpus = gpus_of(resources, pod.gpu_resource, reading);
}

Pod read_pod(const Yaml& pod_template, const std::string& container, Reading& reading) {
  Pod pod;
  pod.line = pod_template.line;
  const Yaml* spec = pod_template.find("spec");
  const Yaml* containers = spec == nullptr ? nullptr : spec->find("containers");
  if (containers == nullptr || containers->items.empty()) {
    reading.problem(pod_template.line, "template: has no spec.containers",
                    "a pod template holds at least one");
    return pod;
  }
  const Yaml& chosen = *training_container(*containers, container);
  read_container(chosen, chosen.find("resources"), pod, reading);
  read_labels(*spec, pod);
  return pod;
}
}  // namespace stepcast::k8s
