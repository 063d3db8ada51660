#include "sim/scenario/source_files.hpp"

#include <filesystem>
#include <set>

#include "sim/scenario/assembly.hpp"
#include "sim/scenario/includes.hpp"

namespace stepcast {
namespace fs = std::filesystem;
namespace {
/// Text at `key` of section `section`, or "".
std::string text_at(const Json& document, const char* section, const char* key) {
  const auto part = document.find(section);
  if (part == document.end() || !part->is_object() || !part->contains(key)) return "";
  const Json& value = (*part)[key];
  return value.is_string() ? value.get<std::string>() : "";
}
}  // namespace

std::vector<std::string> source_files(const std::string& path,
                                      const std::vector<std::string>& settings) {
  std::set<std::string> files{path};
  auto content = read_json_file(path);
  if (!content) return {path};
  LayeredDocument document(path);
  std::error_code error;
  std::vector<std::string> chain{fs::weakly_canonical(path, error).string()};
  Problems ignored;
  add_with_includes(document, path, std::move(*content), chain, ignored);
  for (const Layer& layer : document.layers()) files.insert(layer.file);

  Json user = document.merged();
  for (const std::string& setting : settings) apply_setting(user, setting);
  const auto add_preset = [&](const char* section, const char* kind, const std::string& fallback) {
    const std::string name = text_at(user, section, "preset");
    const std::string preset = preset_path(kind, name.empty() ? fallback : name);
    if (fs::is_regular_file(preset, error)) files.insert(preset);
  };
  add_preset("model", "models", "");
  add_preset("cluster", "clusters", "");
  add_preset("strategy", "strategies", kDefaultStrategy);
  if (const auto data = user.find("data"); data != user.end() && data->is_object())
    if (const std::string storage = preset_path("storage", text_at(*data, "storage", "preset"));
        fs::is_regular_file(storage, error))
      files.insert(storage);
  if (const auto scenario = load_scenario(path, settings))
    if (const auto profile = profile_path_of(*scenario)) files.insert(*profile);
  return {files.begin(), files.end()};
}
}  // namespace stepcast
