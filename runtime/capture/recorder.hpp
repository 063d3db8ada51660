#pragma once
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/timeline/timeline.hpp"

/// What a device did and when. Work enqueued while a label is open belongs to that label; the
/// device side adds one Activity per kernel, copy or collective. cuda fills it from CUPTI records
/// (external correlation id = label id), cpu from its worker threads.
namespace stepcast::runtime {

/// One op of the step as the host issued it.
struct OpLabel {
  std::string_view name;  // from op_names.hpp: static storage
  Category category = Category::compute;
  std::int32_t micro_batch = -1;
  Nanoseconds issued_from = 0, issued_to = 0;  // host clock
};
/// One piece of device work.
struct Activity {
  std::int32_t label = -1;   // index of the OpLabel, -1 = enqueued outside of any
  std::uint32_t stream = 0;  // index from add_stream
  Nanoseconds start = 0, end = 0;
};

class Recorder {
 public:
  virtual ~Recorder() = default;
  bool is_on() const { return is_on_; }
  /// Forgets everything recorded and begins. Call it, and stop, while the device is idle.
  void start();
  void stop();

  std::uint32_t add_stream(const std::string& name);
  /// Host side, one thread. Labels do not nest; -1 while recording is off.
  std::int32_t open(std::string_view name, Category category, std::int32_t micro_batch);
  void close(std::int32_t label);
  std::int32_t current() const { return current_; }
  /// Device side, any thread.
  void add(const Activity& activity);

  const std::vector<OpLabel>& labels() const { return labels_; }
  std::vector<Activity> activities() const;
  const std::vector<std::string>& streams() const { return streams_; }

  /// The host clock that labels and activities share: CLOCK_MONOTONIC.
  static Nanoseconds now();

 protected:
  /// Hooks of a backend whose records come from elsewhere (cuda: CUPTI on and off, external
  /// correlation push and pop).
  virtual void on_start() {}
  virtual void on_stop() {}  // deliver what is still buffered through add()
  virtual void on_open(std::int32_t /*label*/) {}
  virtual void on_close(std::int32_t /*label*/) {}

 private:
  bool is_on_ = false;
  std::int32_t current_ = -1;
  std::vector<OpLabel> labels_;
  std::vector<std::string> streams_;
  mutable std::mutex mutex_;
  std::vector<Activity> activities_;
};

/// Names the work enqueued during its life.
class OpScope {
 public:
  OpScope(Recorder& recorder, std::string_view name, Category category = Category::compute,
          std::int32_t micro_batch = -1)
      : recorder_(recorder), label_(recorder.open(name, category, micro_batch)) {}
  ~OpScope() {
    if (label_ >= 0) recorder_.close(label_);
  }
  OpScope(const OpScope&) = delete;
  OpScope& operator=(const OpScope&) = delete;

 private:
  Recorder& recorder_;
  std::int32_t label_;
};

/// Labels and activities as the simulator's timeline: one span per op and stream, from its first
/// activity's start to its last one's end; a track per stream and one for the host that issued.
/// Times count from the earliest of all. Activities without a label become spans named "custom" of
/// Category::other. Pure.
Timeline timeline_of(const std::vector<OpLabel>& labels, const std::vector<Activity>& activities,
                     const std::vector<std::string>& streams, int node, int rank);
}  // namespace stepcast::runtime
