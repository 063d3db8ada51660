#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/timeline/steps/steps.hpp"
#include "sim/timeline/store/trace_store.hpp"

/// One filter language for search, tables and colouring.
///   name ~ "allreduce" and dur > 1ms and rank in 0..63
///   (category = exposed_dp or cat = "kernel") and not stream ~ "memcpy"
///   grad_reduce                      a bare word or a text alone searches the name
/// Fields: name, cat (the file's), category (as shown), stream, node, rank_name (texts); dur, self,
/// start, end (times; start and end count from the trace's begin), rank, depth, step, bytes
/// (numbers). Operators: = != ~ (contains, without case) !~ =~ (regular expression) < <= > >= in
/// a..b or in {a, b, ...}; and or not ( ), also && || !. Times take ns us ms s, bytes B KB MB GB
/// KiB MiB GiB.
namespace stepcast::trace {

struct FilterError {
  std::size_t position = 0, length = 0;  // in the text, to underline
  std::string message;                   // "unknown field \"durr\""
  std::string hint;                      // "dur? fields are ..." or empty
};
struct FilterNode;  // the parsed tree

class Filter {
 public:
  Filter();  // matches everything
  static std::variant<Filter, FilterError> parse(std::string_view text);
  const std::string& text() const { return text_; }
  bool is_everything() const { return root_ == nullptr; }
  const FilterNode* root() const { return root_.get(); }

 private:
  std::string text_;
  std::shared_ptr<const FilterNode> root_;
};

/// What can follow at `position` of a half-typed text: fields, operators, or names of the trace.
/// For completion.
struct Completion {
  std::size_t from = 0;
  std::vector<std::string> words;
};
Completion complete(std::string_view text, std::size_t position, const TraceStore* trace = nullptr);

/// A filter against one trace: tests on ops and lanes are done once, so that a slice costs a few
/// comparisons.
class BoundFilter {
 public:
  /// `steps` is needed by the field `step` only; without it no slice has a step.
  BoundFilter(const Filter& filter, TracePtr trace, const Steps* steps = nullptr);
  ~BoundFilter();
  BoundFilter(BoundFilter&&) noexcept;
  BoundFilter& operator=(BoundFilter&&) noexcept;
  bool matches(SliceId slice) const;
  bool matches(SliceId slice, LaneId lane) const;  // the lane it lies on, where the caller knows it
  bool matches_on_passing_lane(SliceId slice,
                               LaneId lane) const;  // for scans that asked excludes_lane before
  /// True when no slice of the lane can match: skip it.
  bool excludes_lane(LaneId lane) const;

  struct Hits {
    std::vector<SliceId> slices;  // in store order (lane, then start), at most `limit`
    std::int64_t total = 0;       // also beyond the limit
    bool is_complete = true;      // false: stopped
  };
  Hits find(std::size_t limit = 1'000'000, std::stop_token stop = {}) const;
  /// Nearest match by start time after (before) `time`, over all lanes; kNoId when none. For next
  /// and previous hit.
  SliceId next_after(Nanoseconds time, SliceId current = kNoId) const;
  SliceId previous_before(Nanoseconds time, SliceId current = kNoId) const;

 private:
  struct Bound;
  std::unique_ptr<Bound> bound_;
};
/// Hits per pixel column of a window (0..255, saturated), for ticks in the overview.
std::vector<std::uint8_t> hit_ticks(const TraceStore& trace, std::span<const SliceId> hits,
                                    Nanoseconds begin, Nanoseconds end, int width);
}  // namespace stepcast::trace
