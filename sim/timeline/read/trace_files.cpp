#include "sim/timeline/read/trace_files.hpp"

#include <algorithm>
#include <filesystem>

#include "sim/core/result.hpp"
#include "sim/import/chrome_json/chrome_json.hpp"
#include "sim/import/common/byte_source.hpp"
#include "sim/timeline/read/open_trace.hpp"
#include "sim/timeline/store/builder_state.hpp"

namespace stepcast::trace {
namespace {
namespace fs = std::filesystem;
constexpr std::size_t kMostFiles =
    100'000;                 // a folder with more is no trace folder but somebody's disk
constexpr int kDeepest = 3;  // folder/rank-3/host/trace.json

bool is_trace_file(const std::string& path) {
  try {
    return chrome_json::sniff(head_of(path));
  } catch (const InputError&) {
    return false;
  }
}
std::vector<std::string> files_of(const std::string& folder, Anomalies& anomalies) {
  std::vector<std::string> found;
  std::error_code error;
  std::size_t seen = 0;
  for (fs::recursive_directory_iterator
           at(folder, fs::directory_options::skip_permission_denied, error),
       end;
       at != end && !error; at.increment(error)) {
    if (at.depth() >= kDeepest) at.disable_recursion_pending();
    if (!at->is_regular_file(error)) continue;
    if (++seen > kMostFiles) {
      anomalies.add("folder_too_large", Severity::warning,
                    "only the first 100000 files of the folder were looked at", folder);
      break;
    }
    const std::string path = at->path().string();
    if (is_trace_file(path))
      found.push_back(path);
    else
      anomalies.add("file_skipped", Severity::info,
                    "files of the folder that are no traces are left out", path);
  }
  if (error) throw InputError(Problem{folder, "", "cannot be listed: " + error.message(), ""});
  std::sort(found.begin(), found.end(), is_natural_less);
  return found;
}
}  // namespace

bool is_openable(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return is_trace_file(path);
  for (fs::recursive_directory_iterator
           at(path, fs::directory_options::skip_permission_denied, error),
       end;
       at != end && !error; at.increment(error)) {
    if (at.depth() >= kDeepest) at.disable_recursion_pending();
    if (at->is_regular_file(error) && is_trace_file(at->path().string())) return true;
  }
  return false;
}

std::vector<std::string> trace_files(const std::vector<std::string>& paths, Anomalies& anomalies) {
  if (paths.empty())
    throw InputError(Problem{"command line", "", "no trace was named",
                             "give a file or a folder of files, one per rank"});
  std::vector<std::string> files;
  std::error_code error;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    const auto found = files_of(path, anomalies);
    if (found.empty())
      throw InputError(
          Problem{path, "", "is a folder without traces",
                  "it should hold Chrome, Perfetto or PyTorch profiler JSON, one file per rank"});
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}
}  // namespace stepcast::trace
