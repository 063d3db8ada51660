#pragma once
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "sim/timeline/read/import_report.hpp"
#include "sim/timeline/store/trace_store.hpp"

/// Opens what a person drops on the viewer: our trace.json(.gz), Chrome/Perfetto JSON, PyTorch
/// profiler (Kineto) JSON, plain, gzip or zstd; one file, several, or a folder with one file per
/// rank (merged, clocks aligned by the ends of matched collectives).
namespace stepcast::trace {
struct OpenProgress {
  std::uint64_t bytes = 0, total_bytes = 0;  // on disk
  std::int64_t events = 0;
  std::size_t files = 0, total_files = 0;
  std::string doing;  // "reading rank-3.json.gz", "sorting", "aligning clocks"
};
struct OpenOptions {
  /// Called from the reading thread, at most every 50 ms.
  std::function<void(const OpenProgress&)> on_progress;
  /// What is read so far as a whole store, from the reading thread; the first after 0.3 s, then
  /// ever rarer (each costs a sort).
  std::function<void(TracePtr)> on_partial;
  std::stop_token stop;  // answered within 100 ms; the result then holds what was read
  bool align_clocks = true;
  bool mark_overlapped =
      true;         // communication mostly under compute of its rank is shown as overlapped
  int threads = 1;  // files of a folder read side by side
  std::string cache_folder;  // "" = no cache; see cache/cache.hpp
  /// Of the folder, after a trace was added: some forty traces of 10 M slices, 18 bytes each. The
  /// oldest go first.
  std::uint64_t cache_limit_bytes = std::uint64_t{8} << 30;
};
struct OpenResult {
  TracePtr trace;  // never null; empty where nothing was readable
  ImportReport report;
  bool is_from_cache = false;
};
/// Broken input gives what is readable and says what was lost in the report. Throws InputError only
/// where nothing can be said to be a trace: missing path, no JSON, a folder without traces (each
/// sentence says what to do).
OpenResult open_trace(const std::vector<std::string>& paths, const OpenOptions& options = {});
/// True when the path looks like something open_trace reads (a file's first bytes, or a folder that
/// holds such a file).
bool is_openable(const std::string& path);
}  // namespace stepcast::trace
