#include <filesystem>

#include "sim/scenario/assembly.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
namespace fs = std::filesystem;

/// "h100-sxm5-80g" names a bundled profile; anything with a slash or ending in .json is a path,
/// seen from the current folder or else from the scenario's.
Result<std::string> profile_path_of(const Scenario& scenario) {
  std::error_code error;
  const std::string& named = scenario.profile;
  const std::string place = "/profile";
  if (named.find('/') != std::string::npos || named.ends_with(".json") ||
      named.ends_with(".json.gz")) {
    if (fs::exists(named, error)) return named;
    const fs::path beside = fs::path(scenario.file).parent_path() / named;
    if (fs::exists(beside, error)) return beside.string();
    Problems problems;
    problems.add({scenario.file, place, "\"" + named + "\" is no file here or beside the scenario",
                  "stepcast list profiles shows the bundled ones"});
    return problems;
  }
  const std::string gpu =
      scenario.cluster.groups.empty() ? "" : scenario.cluster.groups.front().spec.gpu.name;
  const std::string name = named.empty() ? gpu : named;
  const std::string path = preset_path("profiles", name);
  if (!name.empty() && name.find('/') == std::string::npos && fs::is_regular_file(path, error))
    return path;
  Problems problems;
  const auto known = preset_names("profiles");
  const std::string near = nearest_name(name, known);
  const std::string hint =
      near.empty() ? "bundled profiles: " + joined(known) : "did you mean \"" + near + "\"?";
  if (named.empty())
    problems.add({scenario.file, place,
                  "no profile is bundled for the GPU \"" + gpu + "\"; name one", hint});
  else
    problems.add(
        {scenario.file, place, "\"" + named.substr(0, 128) + "\" is not a bundled profile", hint});
  return problems;
}

Result<Profile> profile_of(const Scenario& scenario) {
  auto path = profile_path_of(scenario);
  if (!path) return path.problems();
  return read_profile(*path);
}
}  // namespace stepcast
