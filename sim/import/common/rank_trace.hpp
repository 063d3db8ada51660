#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/core/enum_text.hpp"
#include "sim/core/units.hpp"
#include "sim/import/common/anomalies.hpp"
#include "sim/workload/op.hpp"

/// One rank's measured events, whatever profiler wrote them: the common ground of the Kineto and
/// Nsight importers and the input of accounting, timeline, workload and diagnosis.
namespace stepcast {

/// Interned texts without a copy per lookup. Ids are dense, in order of first use.
class TextTable {
 public:
  std::uint32_t id_of(std::string_view text) {
    if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
    texts_.emplace_back(text);
    const auto id = static_cast<std::uint32_t>(texts_.size() - 1);
    ids_.emplace(texts_.back(), id);
    return id;
  }
  const std::string& text_of(std::uint32_t id) const { return texts_[id]; }
  std::size_t size() const { return texts_.size(); }
  TextTable() = default;
  TextTable(TextTable&&) = default;
  TextTable& operator=(TextTable&&) = default;
  TextTable(const TextTable&) = delete;  // the keys point into the texts
  TextTable& operator=(const TextTable&) = delete;
  ~TextTable() = default;

 private:
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, std::uint32_t> ids_;
};

enum class EventKind : std::uint8_t {
  kernel,      // compute on a stream
  collective,  // communication on a stream, or on a host thread with Gloo and MPI
  copy,
  memset,       // on a stream
  launch,       // host call that puts work on a stream
  sync,         // host call that waits for the device
  runtime,      // any other host call of the GPU runtime
  host_op,      // framework operator on a host thread
  annotation,   // user range on a host thread
  device_range  // range projected onto a stream by the profiler
};
inline constexpr int kEventKinds = 10;

inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

struct TraceEvent {
  Nanoseconds start = 0;
  std::int64_t duration = 0;
  std::uint32_t name = 0, track = 0;
  std::uint32_t launch = kNone;      // device events: index of the host call that launched it
  std::uint32_t collective = kNone;  // index into RankTrace::collectives
  std::uint32_t correlation =
      0;  // launch <-> device event; 0 = none. Of a host operator: its record function id
  std::uint32_t shape = kNone;  // host operators that compute: index into RankTrace::op_shapes
  EventKind kind = EventKind::kernel;
  bool is_on_device() const { return kind <= EventKind::memset; }
  Nanoseconds end() const { return start + duration; }
};

struct TraceTrack {
  bool is_device = false;
  std::int64_t process = 0, thread = 0;  // device: device and stream
  std::string label;
};

/// How sure the identity of a collective is.
enum class CollectiveSource : std::uint8_t { metadata, annotation, kernel_name, unknown };
struct CollectiveCall {
  std::optional<Collective>
      collective;    // none: a kind without a model (reduce, gather, scatter, barrier, unknown)
  std::string name;  // as the trace says it
  std::int64_t bytes = 0;  // S as nccl-tests counts it; 0 = not stated
  std::string dtype, group, group_description;
  int group_size = 0;      // 0 = not stated
  std::vector<int> ranks;  // members where stated
  int peer =
      -1;  // send: to whom, receive: from whom, as a global rank; -1 = no message or not stated
  bool is_send = false;
  CollectiveSource source = CollectiveSource::unknown;
};

/// What an operator was called with, as the trace writes it: JSON lists of dimensions, types and
/// values; equal ones are kept once.
struct OpShape {
  std::string dims, types, values;
};

struct StepMark {
  std::int64_t number = 0;
  Nanoseconds start = 0, end = 0;
};

struct RankTrace {
  std::string file, format;  // "kineto", "nsys"
  int rank = -1, world = 0;  // -1, 0: not stated
  std::string host;
  std::vector<std::string> devices;  // GPU models
  TextTable names;
  std::vector<TraceTrack> tracks;
  std::vector<TraceEvent> events;  // by start time
  std::vector<CollectiveCall> collectives;
  std::vector<OpShape> op_shapes;
  std::vector<StepMark> steps;
  bool are_steps_inferred = false;
  std::string step_source;  // "ProfilerStep", "annotation Optimizer.step", "whole trace"
  std::int64_t entries_read = 0,
               entries_lost = 0;  // of the file; lost: damaged or without what they need
  std::uint64_t bytes = 0;
  Anomalies anomalies;
};

/// Links device events to their launches by correlation id, sorts by time and resolves `launch`
/// indices; counts what has none.
void finish_events(RankTrace& trace);
}  // namespace stepcast

template <>
struct stepcast::EnumText<stepcast::CollectiveSource> {
  using S = stepcast::CollectiveSource;
  static constexpr std::array<std::pair<S, std::string_view>, 4> table{
      {{S::metadata, "metadata"},
       {S::annotation, "annotation"},
       {S::kernel_name, "kernel name"},
       {S::unknown, "unknown"}}};
};
