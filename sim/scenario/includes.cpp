#include "sim/scenario/includes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace stepcast {
namespace fs = std::filesystem;
namespace {
constexpr std::size_t kDeepestInclude = 32;
constexpr std::size_t kMostIncludes =
    1024;  // files that include two others each double at every level

void add_include(LayeredDocument& document, const std::string& file, const Json& named,
                 std::vector<std::string>& chain, Problems& problems) {
  if (!named.is_string()) {
    problems.add({file, "/include",
                  "found " + named.dump(-1, ' ', true).substr(0, 60) +
                      ", expected a path or a list of paths",
                  ""});
    return;
  }
  const std::string path =
      (fs::path(file).parent_path() / named.get<std::string>()).lexically_normal().string();
  std::error_code error;
  const std::string identity = fs::weakly_canonical(path, error).string();
  if (std::find(chain.begin(), chain.end(), identity) != chain.end()) {
    std::vector<std::string> names;
    for (const std::string& link : chain) names.push_back(fs::path(link).filename().string());
    names.push_back(fs::path(identity).filename().string());
    problems.add({file, "/include", "includes run in a circle: " + joined(names, " -> "), ""});
    return;
  }
  if (chain.size() > kDeepestInclude) {
    problems.add(
        {file, "/include", fmt::format("includes nest deeper than {}", kDeepestInclude), ""});
    return;
  }
  if (document.size() >= kMostIncludes) {
    if (document.size() == kMostIncludes)
      problems.add({file, "/include", fmt::format("more than {} files are included", kMostIncludes),
                    "a file included twice counts twice"});
    document.add_on_top({file, "", Json::object()});
    return;
  }
  auto content = read_json_file(path);
  if (!content) {
    problems.add(content.problems());
    return;
  }
  chain.push_back(identity);
  add_with_includes(document, path, std::move(*content), chain, problems);
  chain.pop_back();
}

}  // namespace

void add_with_includes(LayeredDocument& document, const std::string& file, Json content,
                       std::vector<std::string>& chain, Problems& problems) {
  if (!content.is_object()) {
    problems.add(
        {file, "/", "holds no object; a scenario is { \"model\": ..., \"cluster\": ... }", ""});
    return;
  }
  if (const auto include = content.find("include"); include != content.end()) {
    if (include->is_array())
      for (const Json& named : *include) add_include(document, file, named, chain, problems);
    else
      add_include(document, file, *include, chain, problems);
    content.erase("include");
  }
  document.add_on_top({file, "", std::move(content)});
}
}  // namespace stepcast
