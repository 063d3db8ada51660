#include <fmt/format.h>

#include <string>
#include <vector>

#include "sim/core/result.hpp"
#include "sim/timeline/read/open_trace.hpp"
#include "sim/timeline/read/slice_args.hpp"
#include "tests/bench/viewer/cpu_cost.hpp"
#include "tests/bench/viewer/synthetic.hpp"

using namespace stepcast;
using namespace stepcast::trace;
namespace {
void print(const char* what, const CpuCost& cost, const std::string& more = "") {
  fmt::print("{:<34} {:9.2f} ms CPU {:9.2f} ms wall {:>12} kinst  {}\n", what, cost.cpu * 1e3, cost.wall * 1e3, cost.instructions / 1000, more);
}
int open_files(const std::vector<std::string>& paths) {
  CpuMeter meter;
  meter.start();
  const OpenResult result = open_trace(paths);
  const CpuCost cost = meter.stop();
  const ImportReport& r = result.report;
  std::uint64_t bytes = 0;
  for (const auto& file : r.files) bytes += file.bytes;
  print("open", cost, fmt::format("{:.0f} MB/s, {:.2f} M events/s", static_cast<double>(bytes) / cost.cpu / 1e6, static_cast<double>(r.events) / cost.cpu / 1e6));
  fmt::print("events {} slices {} instants {} counters {} arrows {} metadata {} lost {}; {} ranks {} tracks {} lanes; peak {:.0f} MiB\n", r.events, r.slices, r.instants,
             r.counter_values, r.flow_arrows, r.metadata, r.lost, result.trace->ranks().size(), result.trace->tracks().size(), result.trace->lanes().size(), peak_MiB());
  fmt::print("{}", r.anomalies.text());
  for (std::size_t i = 0; i < result.trace->tracks().size() && i < 12; ++i) {
    const TrackInfo& t = result.trace->tracks()[i];
    const RankInfo& rank = result.trace->ranks()[t.rank];
    fmt::print("  {} / {} / {}  ({} lanes)\n", result.trace->nodes()[rank.node].label, rank.label, t.label, t.lanes);
  }
  if (result.trace->slices() > 0)
    if (const auto args = read_slice_args(*result.trace, static_cast<SliceId>(result.trace->slices() / 2))) fmt::print("  middle slice: {}\n", args->raw);
  return 0;
}
}  // namespace

int main(int count, char** values) {
  const std::vector<std::string> words(values + 1, values + count);
  try {
    if (!words.empty() && words[0] == "open") return open_files({words.begin() + 1, words.end()});
    if (words.size() == 3 && words[0] == "write") return write_synthetic_json(words[1], std::stoll(words[2])), 0;
  } catch (const InputError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
  return 2;
}
