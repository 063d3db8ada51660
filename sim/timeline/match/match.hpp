#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "sim/timeline/steps/steps.hpp"
#include "sim/timeline/store/trace_store.hpp"

/// Two traces side by side: A (usually measured, or before) and B (simulated, or after).
namespace stepcast::trace {

struct MatchOptions {
  bool by_step = true;  // occurrences count anew in each step; else over the whole trace
  bool ignore_stream =
      false;                 // one occurrence counter per rank and name instead of per stream kind
  bool device_only = false;  // leave host threads out
  std::vector<std::pair<std::int32_t, std::int32_t>>
      rank_map;  // rank of A -> rank of B; empty: equal numbers, else by order
  std::function<void(double)> on_progress;  // 0..1
};
/// Partners by logical rank, stream kind, name and occurrence (inside the step). Everything else is
/// listed, not hidden.
struct Match {
  std::vector<SliceId> partner_of_a, partner_of_b;  // kNoId = none
  std::int64_t pairs = 0;
  std::vector<std::pair<RankId, RankId>> ranks;  // A, B
  std::vector<RankId> ranks_only_a, ranks_only_b;
  struct Unmatched {
    OpId op = 0;
    std::int64_t count = 0;
    double seconds = 0;
  };
  std::vector<Unmatched> only_a, only_b;   // by op, by seconds descending
  std::vector<std::pair<int, int>> steps;  // index in A's steps, in B's
  bool is_complete = true;                 // false: stopped
};
Match match_traces(const TraceStore& a, const Steps& steps_a, const TraceStore& b,
                   const Steps& steps_b, const MatchOptions& options = {},
                   std::stop_token stop = {});

/// A simulated trace writes a few ranks op by op, nested in passes, and of the others the passes
/// alone: there tensor-parallel communication lies inside of them. Sums over ranks of both kinds
/// say nothing, so two simulated traces are compared over the ranks that both write op by op; where
/// there are none, over the passes of all ranks that both have.
struct CommonDetail {
  std::vector<char> is_counted_a, is_counted_b;  // by RankId; empty = all ranks, every slice
  int ranks = 0;                                 // pairs of ranks that count
  bool counts_passes = false;                    // the outermost lane of a stream alone
};
CommonDetail common_detail(const TraceStore& a, const TraceStore& b, const Match& match);
/// Some stream of the rank has slices inside of others.
bool is_op_by_op(const TraceStore& trace, RankId rank);
/// The lane of a track's outermost slices.
bool is_outermost(const TraceStore& trace, LaneId lane);

/// How B's times are drawn on A's axis.
enum class Alignment : std::uint8_t { absolute, begin, first_common_step, every_step, manual };
class TimeMap {
 public:
  /// `manual`: nanoseconds added to B. `is_scaled` (every_step): equal steps get equal width, else
  /// steps are shifted whole.
  static TimeMap make(Alignment alignment, const TraceStore& a, const Steps& steps_a,
                      const TraceStore& b, const Steps& steps_b, const Match& match,
                      Nanoseconds manual = 0, bool is_scaled = false);
  Nanoseconds b_to_a(Nanoseconds time) const;
  Nanoseconds a_to_b(Nanoseconds time) const;
  struct Piece {
    Nanoseconds a = 0, b = 0;
    double slope = 1;
  };  // from b on: a + (t - b) * slope
  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  std::vector<Piece> pieces_;
};

/// A key of the delta table: per op (by name) or category.
struct Delta {
  std::string label;
  SliceCategory category{};
  std::int64_t count_a = 0, count_b = 0;
  double total_a = 0, total_b = 0;  // seconds per step and rank
  double mean_a = 0, mean_b = 0;    // seconds of one
  double p95_a = 0, p95_b = 0;
  double difference() const { return total_b - total_a; }
  double percent() const { return total_a > 0 ? (total_b / total_a - 1) * 100 : 0; }
  double contribution =
      0;  // difference over the difference of all rows' sum of absolute differences
  bool is_change = false;  // beyond the threshold
};
enum class DeltaBy : std::uint8_t { name, category };
/// `threshold`: relative change of the mean that counts as none (0.02 = 2 %). By category a pass
/// that encloses its ops is no time of its own.
std::vector<Delta> delta_table(const TraceStore& a, const Steps& steps_a, const TraceStore& b,
                               const Steps& steps_b, DeltaBy by, double threshold = 0.02,
                               const CommonDetail& detail = {});

/// From A's step time to B's: state times of the slowest rank's step by category (they and idle add
/// up to the step), so that the bars add up exactly. Where only one
/// side writes that rank op by op, its passes count as a whole on both.
struct Waterfall {
  double step_a = 0,
         step_b =
             0;  // seconds: mean over common steps (without the first when there are three or more)
  struct Bar {
    std::string label;
    SliceCategory category{};
    bool is_idle = false;
    double seconds = 0;
  };                           // signed
  std::vector<Bar> bars;       // sum = step_b - step_a
  bool counts_passes = false;  // what lies inside of passes is not told apart
};
Waterfall waterfall(const TraceStore& a, const Steps& steps_a, const TraceStore& b,
                    const Steps& steps_b, const Match& match);

/// Signed errors of B (the prediction) against A (the measurement).
struct Accuracy {
  struct Row {
    std::string label;
    std::int64_t pairs = 0;
    double seconds_a = 0, seconds_b = 0, error = 0;
  };  // error = b / a - 1
  std::vector<Row> by_step, by_name, by_rank;
  double step_error = 0;           // mean step: b / a - 1; the headline
  double mean_absolute_error = 0;  // over matched slices, weighted by A's time
  struct Worst {
    SliceId a = 0, b = 0;
    double seconds = 0;
  };
  std::vector<Worst> worst;  // largest absolute differences, at most 100
  struct Point {
    float measured = 0, simulated = 0;
  };
  std::vector<Point> scatter;  // seconds; at most 5000 matched pairs, evenly picked
};
Accuracy accuracy(const TraceStore& a, const Steps& steps_a, const TraceStore& b,
                  const Steps& steps_b, const Match& match);

/// One number per rank and step: B minus A in seconds, for the delta lane and the difference heat
/// map. NaN = not in both.
struct DeltaMatrix {
  std::size_t steps = 0, ranks = 0;
  std::vector<double> seconds;
};
DeltaMatrix step_deltas(const Steps& steps_a, const Steps& steps_b, const Match& match);
}  // namespace stepcast::trace
