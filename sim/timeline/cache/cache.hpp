#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/timeline/read/import_report.hpp"
#include "sim/timeline/store/trace_store.hpp"

/// Columns in a file that is mapped on re-opening: 10 M slices in well under half a second.
namespace stepcast::trace {
struct CachedTrace {
  TracePtr trace;
  ImportReport report;
};
/// File name for these sources: a hash of their absolute paths. Size, modification time and this
/// format's version stand in the file.
std::string cache_path(const std::vector<std::string>& sources, const std::string& folder);
/// Default folder: $XDG_CACHE_HOME/stepcast/traces, else ~/.cache/...; only the command line and
/// the viewer ask for it.
std::string default_cache_folder();
/// Nothing where there is none, a source changed, the version differs or the file is damaged
/// (checked before anything is used).
std::optional<CachedTrace> read_cache(const std::string& path,
                                      const std::vector<std::string>& sources);
/// Written beside and renamed; a failure (disk full) leaves no file and returns false.
bool write_cache(const std::string& path, const std::vector<std::string>& sources,
                 const TraceStore& trace, const ImportReport& report);
/// Removes the oldest files of the folder until at most `bytes` remain.
void trim_cache(const std::string& folder, std::uint64_t bytes);
}  // namespace stepcast::trace
