#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "sim/timeline/filter/filter.hpp"
#include "sim/timeline/store/trace_store.hpp"

namespace stepcast::trace {
/// Half-open window and lanes an aggregate looks at. Empty lanes = all.
struct Area {
  Nanoseconds begin = 0, end = 0;
  std::vector<LaneId> lanes;
  static Area all(const TraceStore& trace) { return {trace.begin(), trace.end() + 1, {}}; }
};

/// Durations of one kind of slice. Times in nanoseconds.
struct OpStatistics {
  OpId op = 0;
  std::int64_t count = 0;
  double total = 0, mean = 0, deviation = 0;  // deviation: standard; cv = deviation / mean
  Nanoseconds least = 0, p50 = 0, p95 = 0, p99 = 0, most = 0;
  SliceId longest = kNoId;
  double variation() const { return mean > 0 ? deviation / mean : 0; }
};
/// One row per op that occurs, by total descending. Whole slices that start in the area count;
/// exact percentiles.
std::vector<OpStatistics> op_statistics(const TraceStore& trace, const Area& area,
                                        const BoundFilter* filter = nullptr,
                                        std::stop_token stop = {});

/// Durations of one op in logarithmic bins.
struct Histogram {
  std::vector<Nanoseconds> edges;    // bins + 1
  std::vector<std::int64_t> counts;  // bins
  std::int64_t total = 0;
};
Histogram op_histogram(const TraceStore& trace, OpId op, const Area& area, int bins = 40,
                       const BoundFilter* filter = nullptr);

/// What a pivot groups by.
enum class GroupBy : std::uint8_t { category, op, name, rank, node, stream, track };
/// Time of an area, cut to its borders, by one or two keys.
struct Pivot {
  struct Row {
    std::uint32_t key = 0, key2 = 0;  // category, op id, text id, rank id, node index, text id of
                                      // the stream's label kind, track id
    std::string label, label2;        // label2 empty with one key
    std::int64_t count = 0;
    double total = 0;  // nanoseconds inside the area; nested slices count in each
    Nanoseconds most = 0;
    double share = 0;  // of window x tracks looked at
  };
  std::vector<Row> rows;  // by total descending
  std::int64_t slices = 0;
  double seconds = 0;  // sum of totals
  bool is_complete = true;
};
Pivot pivot(const TraceStore& trace, const Area& area, GroupBy first,
            std::optional<GroupBy> second = {}, const BoundFilter* filter = nullptr,
            std::stop_token stop = {});

/// The longest slices that match, longest first.
std::vector<SliceId> longest_slices(const TraceStore& trace, const Area& area, std::size_t count,
                                    const BoundFilter* filter = nullptr);

/// Prefix sums per block of slices: repeated areas (dragging a selection) in a few milliseconds at
/// 10 M slices. About 1.3 bytes a slice.
class AreaIndex {
 public:
  explicit AreaIndex(TracePtr trace, std::stop_token stop = {});
  ~AreaIndex();
  AreaIndex(const AreaIndex&) = delete;
  AreaIndex& operator=(const AreaIndex&) = delete;
  struct Sum {
    std::int64_t count = 0;
    double total = 0;
  };
  /// By display category; exact at the borders.
  std::array<Sum, kSliceCategories> by_category(const Area& area) const;
  std::size_t memory() const;

 private:
  struct Blocks;
  std::unique_ptr<Blocks> blocks_;
};
}  // namespace stepcast::trace
