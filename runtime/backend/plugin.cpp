#include "runtime/backend/plugin.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace stepcast::runtime {
namespace fs = std::filesystem;
namespace {
std::vector<fs::path> folders() {
  std::vector<fs::path> found;
  if (const char* named = std::getenv("STEPCAST_PLUGINS"); named != nullptr && *named != '\0')
    found.emplace_back(named);
  std::error_code error;
  const fs::path binary = fs::read_symlink("/proc/self/exe", error).parent_path();
  if (!error) found.insert(found.end(), {binary, binary / ".." / "lib" / "stepcast"});
  found.emplace_back(STEPCAST_BUILD_PLUGINS);
  return found;
}
std::string last_dl_error() {
  const char* text = dlerror();
  return text == nullptr ? "unknown reason" : text;
}
}  // namespace

std::unique_ptr<Backend> load_plugin(const std::string& file, PluginSearch& search) {
  for (const fs::path& folder : folders()) {
    const fs::path path = folder / file;
    std::error_code error;
    if (!fs::exists(path, error)) {
      search.tried.push_back(path.string() + ": not there");
      continue;
    }
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      search.tried.push_back(path.string() + ": " + last_dl_error());
      continue;
    }
    const auto* plugin = static_cast<const BackendPlugin*>(dlsym(library, kPluginSymbol));
    if (plugin == nullptr || std::strcmp(plugin->build, kPluginBuild) != 0) {
      search.tried.push_back(
          fmt::format("{}: built as \"{}\", this program is \"{}\"", path.string(),
                      plugin == nullptr ? "something else" : plugin->build, kPluginBuild));
      dlclose(library);
      continue;
    }
    // Never closed: objects of the backend, and threads of the vendor's libraries, live as long as
    // the process.
    return std::unique_ptr<Backend>(plugin->create());
  }
  return nullptr;
}
}  // namespace stepcast::runtime
