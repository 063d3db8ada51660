#include "gui/document/scenario_document.hpp"

#include <filesystem>

#include "sim/io/json.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast::gui {
namespace {
QString text_of_json(const Json& value) {
  return QString::fromStdString(value.is_string() ? value.get<std::string>() : value.dump());
}

/// The value at a pointer, or nullptr.
const Json* at(const Json& document, const std::string& pointer) {
  const Json::json_pointer path(pointer);
  return document.contains(path) ? &document.at(path) : nullptr;
}

/// `file` over its includes, as the simulator merges them: what stands in the file wins.
Json with_includes(const std::string& file, Problems& problems, int depth = 0) {
  Json merged = Json::object();
  auto read = read_json_file(file);
  if (!read) {
    problems.add(read.problems());
    return merged;
  }
  // Sixteen levels are more than anybody writes; a circle is reported by the simulator itself.
  if (read->is_object() && read->contains("include") && depth < 16) {
    const Json list =
        (*read)["include"].is_array() ? (*read)["include"] : Json::array({(*read)["include"]});
    for (const Json& name : list)
      if (name.is_string())
        merge_json(
            merged,
            with_includes(
                (std::filesystem::path(file).parent_path() / name.get<std::string>()).string(),
                problems, depth + 1));
  }
  merge_json(merged, *read);
  return merged;
}
}  // namespace

ScenarioDocument::ScenarioDocument(QObject* parent) : QObject(parent) {}

QString ScenarioDocument::load(const QString& scenario) {
  std::string file = scenario.toStdString();
  if (!std::filesystem::exists(file)) file = preset_path("jobs", file);
  if (!std::filesystem::exists(file)) {
    const std::string near = nearest_name(scenario.toStdString(), preset_names("jobs"));
    return "\"" + scenario + "\" is neither a file nor a bundled job" +
           (near.empty() ? "" : "; did you mean " + QString::fromStdString(near) + "?");
  }
  Problems problems;
  const Json merged = with_includes(file, problems);
  if (!problems.empty()) return QString::fromStdString(problems.text());
  scenario_ = scenario;
  merged_ = merged.dump();
  description_ = merged.contains("description") ? text_of_json(merged["description"]) : QString();
  presets_.clear();
  preset_names_.clear();
  learned_.clear();
  changes_.clear();
  for (const auto& [part, kind] :
       {std::pair{"model", "models"}, {"cluster", "clusters"}, {"strategy", "strategies"}}) {
    const Json* name = at(merged, std::string("/") + part + "/preset");
    const std::string preset = name != nullptr && name->is_string() ? name->get<std::string>()
                               : std::string(part) == "strategy"    ? "megatron"
                                                                    : "";
    if (preset.empty()) continue;
    const auto read = read_json_file(preset_path(kind, preset));
    if (!read) continue;  // the simulator names the problem when it runs
    presets_[part] = read->dump();
    preset_names_[part] = QString::fromStdString(preset);
  }
  emit loaded();
  return {};
}

ScenarioDocument::Base ScenarioDocument::base(const QString& pointer) const {
  if (merged_.empty()) return {};
  const std::string path = pointer.toStdString();
  const Json merged = Json::parse(merged_);
  if (const Json* value = at(merged, path)) return {text_of_json(*value), "scenario"};
  for (const auto& [part, text] : presets_) {
    const Json preset = Json::parse(text);
    const QString head = "/" + part + "/";
    if (pointer.startsWith(head))
      if (const Json* value = at(preset, pointer.mid(head.size() - 1).toStdString()))
        return {text_of_json(*value), "preset " + preset_names_.at(part)};
    // A strategy may bring defaults for parallel and training.
    if (part == "strategy")
      if (const Json* value = at(preset, path))
        return {text_of_json(*value), "preset " + preset_names_.at(part)};
  }
  if (const auto it = learned_.find(pointer); it != learned_.end())
    return {it->second, "filled in"};
  for (const ScenarioField& field : scenario_fields())
    if (field.pointer == pointer)
      return {field.fallback, field.fallback.isEmpty() ? "" : "default"};
  return {};
}

void ScenarioDocument::set_change(const QString& pointer, const QString& text) {
  const QString trimmed = text.trimmed();
  const auto it = changes_.find(pointer);
  if (trimmed.isEmpty() || trimmed == base(pointer).text) {
    if (it == changes_.end()) return;
    changes_.erase(it);
  } else {
    if (it != changes_.end() && it->second == trimmed) return;
    changes_[pointer] = trimmed;
  }
  emit changed();
}
void ScenarioDocument::clear_changes() {
  if (changes_.empty()) return;
  changes_.clear();
  emit changed();
}
QStringList ScenarioDocument::settings_of(const std::map<QString, QString>& changes) {
  QStringList out;
  for (const auto& [pointer, text] : changes) out << pointer + "=" + text;
  return out;
}
QStringList ScenarioDocument::settings() const { return settings_of(changes_); }
}  // namespace stepcast::gui
