#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/io/json.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/scenario/assembly.hpp"
#include "sim/scenario/includes.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
namespace fs = std::filesystem;
namespace {

Result<Scenario> loaded(Json content, const std::string& file,
                        const std::vector<std::string>& settings) {
  Problems problems;
  LayeredDocument document(file);
  std::error_code error;
  std::vector<std::string> chain{fs::weakly_canonical(file, error).string()};
  const bool is_object = content.is_object();
  add_with_includes(document, file, std::move(content), chain, problems);
  if (!is_object) return problems;
  Json user = document.merged();
  for (const std::string& setting : settings) {
    const auto applied = apply_setting(user, setting);
    if (applied)
      document.mark_setting(setting.substr(0, setting.find('=')));
    else
      problems.add(applied.problems());
  }
  Scenario scenario = assemble(document, std::move(user), file, problems);
  if (!problems.empty()) return problems;
  return scenario;
}
}  // namespace

Result<Scenario> scenario_of(Json document, const std::string& file) {
  return loaded(std::move(document), file, {});
}

Result<Scenario> load_scenario(const std::string& path, const std::vector<std::string>& settings) {
  auto content = read_json_file(path);
  if (!content) return content.problems();
  return loaded(std::move(*content), path, settings);
}
}  // namespace stepcast
