#include "sim/import/k8s/parts.hpp"

namespace stepcast::k8s {
void apply_annotations(const Job& job, Reading& reading) {
  if (job.annotations == nullptr) return;
  for (const auto& [key, value] : job.annotations->entries) {
    if (!key.starts_with("stepcast-")) continue;
    const std::string section = key.substr(std::string_view("stepcast-").size());
    if (section == "cluster" || section == "model" || section == "strategy") {
      reading.put("/" + section + "/preset", value.text);
    } else if (section == "training" || section == "parallel") {
      const auto content = parse_json(value.text, reading.file);
      if (!content || !content->is_object()) {
        reading.problem(value.line, "annotation " + key + ": expected a JSON object");
        continue;
      }
      for (const auto& [name, entry] : content->items())
        reading.put("/" + section + "/" + name, entry);
    } else {
      const std::string near =
          nearest_name(section, {"cluster", "model", "strategy", "training", "parallel"});
      reading.problem(value.line, "annotation " + key + " is not known",
                      near.empty() ? "" : "did you mean stepcast-" + near + "?");
      continue;
    }
    reading.read.push_back(section + " from annotation " + key + " (line " +
                           std::to_string(value.line) + ")");
  }
}
}  // namespace stepcast::k8s
