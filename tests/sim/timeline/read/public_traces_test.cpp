#include <algorithm>
#include <filesystem>
#include <map>

#include "sim/io/files.hpp"
#include "sim/io/json.hpp"
#include "sim/timeline/read/open_trace.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::trace;
namespace {
/// Public traces stand beside the checkout or where STEPCAST_DATA says; they are not part of the
/// repository.
std::string traces_folder() {
  const char* stated = std::getenv("STEPCAST_DATA");
  for (const std::string& folder :
       {std::string(stated == nullptr ? "" : stated), test::source_dir() + "/../shared/data",
        test::source_dir() + "/../../shared/data", test::source_dir() + "/../../../shared/data"})
    if (!folder.empty() && std::filesystem::is_directory(folder + "/traces"))
      return folder + "/traces";
  return "";
}
}  // namespace

TEST_CASE("every public timeline opens and its events are those a plain JSON reader counts",
          "[read]") {
  const std::string folder = traces_folder();
  if (folder.empty()) {
    WARN("SKIPPED: no public traces beside the checkout (set STEPCAST_DATA)");
    return;
  }
  int opened = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (!entry.is_regular_file() || !is_openable(path)) continue;
    const auto text = read_file(path);
    REQUIRE(text);
    const nlohmann::json document = nlohmann::json::parse(*text);
    const auto& events = document.is_array() ? document : document["traceEvents"];
    std::map<char, std::int64_t> phases;
    for (const auto& event : events) {
      const std::string phase = event.value("ph", "?");
      ++phases[phase.empty() ? '?' : phase[0]];
    }
    const OpenResult r = open_trace({path});
    INFO(path);
    CHECK(r.report.events == static_cast<std::int64_t>(events.size()));
    for (const auto& [phase, count] : phases) {
      INFO(phase);
      CHECK(r.report.events_by_phase[static_cast<std::size_t>(phase)] == count);
    }
    // Slices are X events with a time, nothing else in these files makes or loses one.
    CHECK(r.report.slices == phases['X'] - r.report.anomalies.count_of("event_without_time"));
    CHECK(r.report.slices == static_cast<std::int64_t>(r.trace->slices()));
    CHECK(r.report.instants == phases['i']);
    CHECK(r.report.metadata == phases['M']);
    CHECK(r.report.files.front().is_complete);
    ++opened;
  }
  INFO(folder);
  CHECK(opened >= 10);
}
