#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "sim/scenario/layers.hpp"
#include "sim/scenario/scenario.hpp"

#ifndef STEPCAST_SOURCE_SCENARIOS
#error "the build names the source tree's scenarios folder"
#endif

namespace stepcast {
namespace fs = std::filesystem;
namespace {
constexpr std::size_t kLongestName = 128;

bool is_plain_name(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName && name.find('/') == std::string::npos &&
         name[0] != '.';
}
/// models/gpt3-175b.json, profiles/h100-sxm5-80g.profile.json, jobs/gpt3-175b-1024n.scenario.json
std::string suffix_of(const std::string& kind) {
  return kind == "profiles" ? ".profile.json" : kind == "jobs" ? ".scenario.json" : ".json";
}
}  // namespace

std::string scenarios_folder() {
  std::error_code error;
  if (const char* named = std::getenv("STEPCAST_SCENARIOS"); named != nullptr && *named != '\0') {
    if (!fs::is_directory(fs::path(named) / "models", error))
      throw EnvironmentError(
          std::string("STEPCAST_SCENARIOS names ") + named + ", which holds no folder models; " +
          "name the folder that holds models, clusters, strategies, profiles and jobs");
    return named;
  }
  const fs::path binary = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path installed =
        binary.parent_path().parent_path() / "share" / "stepcast" / "scenarios";
    if (fs::is_directory(installed, error)) return installed.string();
  }
  return STEPCAST_SOURCE_SCENARIOS;
}

std::string preset_path(const std::string& kind, const std::string& name) {
  return (fs::path(scenarios_folder()) / kind / (name + suffix_of(kind))).string();
}

std::vector<std::string> preset_names(const std::string& kind) {
  std::vector<std::string> names;
  std::error_code error;
  const std::string suffix = suffix_of(kind);
  for (fs::directory_iterator it(fs::path(scenarios_folder()) / kind, error), end;
       !error && it != end; it.increment(error)) {
    const std::string file = it->path().filename().string();
    if (file.size() > suffix.size() && file.ends_with(suffix))
      names.push_back(file.substr(0, file.size() - suffix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<Json> read_preset(const std::string& kind, const std::string& name, const std::string& file,
                         const std::string& place) {
  std::error_code error;
  const std::string path = preset_path(kind, name);
  if (!is_plain_name(name) || !fs::is_regular_file(path, error)) {
    Problems problems;
    const auto known = preset_names(kind);
    const std::string near = nearest_name(name, known);
    const std::string shown =
        name.size() > kLongestName ? name.substr(0, kLongestName) + "..." : name;
    problems.add(
        {file, place, "\"" + shown + "\" is not a preset of " + scenarios_folder() + "/" + kind,
         near.empty() ? "stepcast list " + kind + " shows all " + std::to_string(known.size())
                      : "did you mean \"" + near + "\"?"});
    return problems;
  }
  auto content = read_json_file(path);
  if (!content) return content.problems();
  if (content->is_object())
    for (const char* note : {"description", "source", "sources"}) content->erase(note);
  return content;
}
}  // namespace stepcast
