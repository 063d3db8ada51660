#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/core/result.hpp"
#include "sim/io/files.hpp"
#include "sim/timeline/cache/cache.hpp"
#include "sim/timeline/lod/lod.hpp"
#include "sim/timeline/match/match.hpp"
#include "sim/timeline/read/open_trace.hpp"
#include "sim/timeline/read/slice_args.hpp"
#include "sim/timeline/stats/critical_path.hpp"
#include "sim/timeline/stats/op_statistics.hpp"
#include "sim/timeline/stats/ranks.hpp"
#include "tests/bench/viewer/cpu_cost.hpp"
#include "tests/bench/viewer/synthetic.hpp"

using namespace stepcast;
using namespace stepcast::trace;
namespace {
void print(const char* what, const CpuCost& cost, const std::string& more = "") {
  fmt::print("{:<34} {:9.2f} ms CPU {:9.2f} ms wall {:>12} kinst  {}\n", what, cost.cpu * 1e3,
             cost.wall * 1e3, cost.instructions / 1000, more);
}
int open_files(const std::vector<std::string>& paths) {
  CpuMeter meter;
  meter.start();
  const OpenResult result = open_trace(paths);
  const CpuCost cost = meter.stop();
  const ImportReport& r = result.report;
  std::uint64_t bytes = 0;
  for (const auto& file : r.files) bytes += file.bytes;
  print("open", cost,
        fmt::format("{:.0f} MB/s, {:.2f} M events/s", static_cast<double>(bytes) / cost.cpu / 1e6,
                    static_cast<double>(r.events) / cost.cpu / 1e6));
  fmt::print(
      "events {} slices {} instants {} counters {} arrows {} metadata {} lost {}; {} ranks {} "
      "tracks {} lanes; peak {:.0f} MiB\n",
      r.events, r.slices, r.instants, r.counter_values, r.flow_arrows, r.metadata, r.lost,
      result.trace->ranks().size(), result.trace->tracks().size(), result.trace->lanes().size(),
      peak_MiB());
  fmt::print("{}", r.anomalies.text());
  for (std::size_t i = 0; i < result.trace->tracks().size() && i < 12; ++i) {
    const TrackInfo& t = result.trace->tracks()[i];
    const RankInfo& rank = result.trace->ranks()[t.rank];
    fmt::print("  {} / {} / {}  ({} lanes)\n", result.trace->nodes()[rank.node].label, rank.label,
               t.label, t.lanes);
  }
  if (result.trace->slices() > 0)
    if (const auto args =
            read_slice_args(*result.trace, static_cast<SliceId>(result.trace->slices() / 2)))
      fmt::print("  middle slice: {}\n", args->raw);
  return 0;
}

/// Median and 95th percentile of the CPU milliseconds of `frames` frames at one zoom, panned over
/// the trace.
void frames(const LodPyramid& pyramid, const TraceStore& trace, const std::string& what,
            double time_share, double rows) {
  constexpr int kFrames = 40;
  constexpr int kWidth = 1920, kHeight = 1080;
  static std::vector<LodCell> cells(static_cast<std::size_t>(kWidth) * kHeight);
  static std::vector<std::uint32_t> image(cells.size());
  std::array<Rgb, kSliceCategories> palette{};
  for (std::size_t i = 0; i < palette.size(); ++i)
    palette[i] = {static_cast<std::uint8_t>(i * 16), static_cast<std::uint8_t>(255 - i * 16), 128};
  static const auto colours = cell_colours(palette, {20, 20, 24});
  std::vector<double> cost;
  CpuMeter meter;
  int exact = 0;
  const auto length = static_cast<double>(trace.end() - trace.begin());
  for (int i = 0; i < kFrames; ++i) {
    LodQuery q;
    const double pan = static_cast<double>(i) / (kFrames - 1);
    q.begin = trace.begin() + static_cast<Nanoseconds>(length * (1 - time_share) * pan);
    q.end = q.begin + static_cast<Nanoseconds>(length * time_share);
    q.rows = std::min(rows, static_cast<double>(pyramid.rows()));
    q.first_row = (static_cast<double>(pyramid.rows()) - q.rows) * pan;
    q.width = kWidth, q.height = kHeight;
    meter.start();
    exact += pyramid.query(q, cells);
    for (std::size_t p = 0; p < cells.size(); ++p) image[p] = colours[cells[p]];
    cost.push_back(meter.stop().cpu * 1e3);
  }
  std::sort(cost.begin(), cost.end());
  fmt::print("frame {:<36} median {:6.2f} ms CPU, p95 {:6.2f}, {} of {} exact\n", what,
             cost[cost.size() / 2], cost[cost.size() * 95 / 100], exact, kFrames);
}

/// Store, pyramids and the frames that the viewer draws from them.
TracePtr measure_frames(std::int64_t slices, int tracks) {
  fmt::print("-- {} slices in {} tracks\n", slices, tracks);
  CpuMeter meter;
  meter.start();
  const TracePtr trace = synthetic_trace({slices, tracks, 1});
  print("make and sort", meter.stop(), fmt::format("peak {:.0f} MiB", peak_MiB()));
  const auto a_slice = [&](std::size_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(trace->slices());
  };
  meter.start();
  const LodPyramid lanes(trace, lane_rows(*trace));
  print("pyramid of lanes", meter.stop(),
        fmt::format("{:.2f} bytes a slice", a_slice(lanes.memory())));
  meter.start();
  const LodPyramid states(trace, state_rows(*trace));
  print("pyramid of rank states", meter.stop(),
        fmt::format("{:.2f} bytes a slice", a_slice(states.memory())));
  fmt::print("bytes a slice: store {:.2f}, with both pyramids {:.2f}\n", a_slice(trace->memory()),
             a_slice(trace->memory() + lanes.memory() + states.memory()));
  const auto all = static_cast<double>(lanes.rows()), ranks = static_cast<double>(states.rows());
  for (const double share : {1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0001}) {
    frames(lanes, *trace, fmt::format("lanes, all rows, {:g} % of time", share * 100), share, all);
    frames(lanes, *trace, fmt::format("lanes, 1 px rows, {:g} %", share * 100), share, 1080);
    frames(lanes, *trace, fmt::format("lanes, 18 px rows, {:g} %", share * 100), share, 60);
    frames(states, *trace, fmt::format("states, all ranks, {:g} %", share * 100), share, ranks);
    frames(states, *trace, fmt::format("states, 18 px rows, {:g} %", share * 100), share, 60);
  }
  return trace;
}

void measure_queries(const TracePtr& trace) {
  CpuMeter meter;
  const auto a_slice = [&](std::size_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(trace->slices());
  };
  const Area area = Area::all(*trace);
  const Area half{trace->begin() + (trace->end() - trace->begin()) / 4,
                  trace->begin() + (trace->end() - trace->begin()) / 4 * 3,
                  {}};
  for (int repeat = 0; repeat < 2; ++repeat) {
    meter.start();
    const Pivot by_op = pivot(*trace, area, GroupBy::op);
    print("aggregate by op", meter.stop(), fmt::format("{} rows", by_op.rows.size()));
  }
  meter.start();
  pivot(*trace, half, GroupBy::category, GroupBy::rank);
  print("aggregate by category and rank", meter.stop());
  meter.start();
  const AreaIndex index(trace);
  print("area index: build", meter.stop(),
        fmt::format("{:.2f} bytes a slice", a_slice(index.memory())));
  meter.start();
  index.by_category(half);
  print("area index: half of the time", meter.stop());
  for (const char* text :
       {"name ~ \"layer_7\"", "all_reduce and dur > 60us", "rank in 0..63 and dur > 1us",
        "layer_1 or (dur < 40us and stream = gather)"}) {
    const Filter filter = std::get<Filter>(Filter::parse(text));
    meter.start();
    const BoundFilter bound(filter, trace);
    const auto hits = bound.find();
    print(text, meter.stop(), fmt::format("{} hits", hits.total));
  }
  meter.start();
  const auto table = op_statistics(*trace, area);
  print("op statistics with percentiles", meter.stop(), fmt::format("{} ops", table.size()));
  meter.start();
  const Steps steps = find_steps(*trace);
  print("find steps", meter.stop(), fmt::format("{} by {}", steps.numbers.size(), steps.how));
  meter.start();
  const StepMatrix matrix = step_matrix(*trace, steps);
  print("step matrix", meter.stop());
  meter.start();
  const auto runs = collective_runs(*trace);
  print("match collectives", meter.stop(), fmt::format("{} runs", runs.size()));
  meter.start();
  const auto ranks = rank_statistics(*trace, area, steps, matrix, runs);
  print("rank statistics", meter.stop(),
        fmt::format("slowest {}", trace->ranks()[ranks_by_slowness(ranks).front()].label));
  meter.start();
  const CriticalPath path = critical_path(*trace, runs, trace->begin(), trace->end());
  print("critical path", meter.stop(), fmt::format("{} segments", path.segments.size()));
}

void measure_comparison(const TracePtr& trace, int tracks) {
  CpuMeter meter;
  const Steps steps = find_steps(*trace);
  const TracePtr other = synthetic_trace({static_cast<std::int64_t>(trace->slices()), tracks, 1.1});
  const Steps other_steps = find_steps(*other);
  meter.start();
  const Match match = match_traces(*trace, steps, *other, other_steps);
  print("compare: join", meter.stop(), fmt::format("{} pairs", match.pairs));
  meter.start();
  accuracy(*trace, steps, *other, other_steps, match);
  print("compare: signed errors", meter.stop());
}

void measure_cache(const TracePtr& trace) {
  CpuMeter meter;
  const std::string source = fmt::format("/tmp/viewer_bench_{}.source", getpid()),
                    cache = source + ".cache";
  write_file(source, "stands for the trace");
  meter.start();
  const bool is_written = write_cache(cache, {source}, *trace, {});
  print("cache: write", meter.stop(), is_written ? "" : "FAILED");
  meter.start();
  const auto reopened = read_cache(cache, {source});
  print("cache: reopen", meter.stop(),
        reopened && reopened->trace->slices() == trace->slices() ? "whole file checked" : "FAILED");
  std::filesystem::remove(cache);
  std::filesystem::remove(source);
}
}  // namespace

int main(int count, char** values) {
  const std::vector<std::string> words(values + 1, values + count);
  try {
    if (!words.empty() && words[0] == "open") return open_files({words.begin() + 1, words.end()});
    if (words.size() == 3 && (words[0] == "shape" || words[0] == "store")) {
      const int tracks = std::stoi(words[2]);
      const TracePtr trace = measure_frames(std::stoll(words[1]), tracks);
      measure_cache(trace);
      if (words[0] == "shape") {
        measure_queries(trace);
        measure_comparison(trace, tracks);
      }
      fmt::print("peak {:.0f} MiB\n", peak_MiB());
      return 0;
    }
    if (words.size() == 3 && words[0] == "write")
      return write_synthetic_json(words[1], std::stoll(words[2])), 0;
  } catch (const InputError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
  fmt::print(stderr,
             "viewer_bench open FILE... | shape SLICES TRACKS | store SLICES TRACKS | write FILE "
             "EVENTS\n");
  return 2;
}
