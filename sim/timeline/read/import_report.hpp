#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/import/common/anomalies.hpp"

namespace stepcast::trace {
/// What an import met: the numbers add up, so that nothing is lost unreported.
///   events = slices' events + instants + counters' events + flow ends + metadata + lost
struct ImportReport {
  struct File {
    std::string path;
    std::string format;            // "stepcast", "kineto", "chrome"
    std::uint64_t bytes = 0;       // inflated
    std::uint64_t file_bytes = 0;  // on disk
    std::int64_t events = 0;       // well-formed entries of traceEvents
    bool is_complete = true;       // false: broken off or cancelled; anomalies say where
  };
  std::vector<File> files;
  std::int64_t events = 0;                          // entries read from all files
  std::array<std::int64_t, 128> events_by_phase{};  // by the letter of "ph"; '?' = none
  std::int64_t slices = 0, instants = 0, counter_values = 0, flow_arrows = 0, metadata = 0;
  std::int64_t lost =
      0;  // events that appear nowhere; anomalies tell why, with file and byte offset
  bool is_cancelled = false;
  Anomalies anomalies;
  double seconds = 0;  // wall
};
}  // namespace stepcast::trace
