#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/timeline/category.hpp"

/// What happened when, measured or simulated: the same type, the same op names.
namespace stepcast {
using NameId = std::uint32_t;
/// Interned texts; ids are dense and stable in order of first use.
class NameTable {
 public:
  NameId id_of(const std::string& text);
  const std::string& text_of(NameId id) const { return texts_[id]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, NameId> ids_;
};

/// A track: one stream of one rank. Tracks of a rank stand together.
struct Track {
  int node = 0, rank = 0;
  std::string stream;
};
/// What a span of communication moves.
struct Payload {
  std::string collective;  // "all_reduce", "send_recv"
  /// Family and instance, the same text on every member: "dp: rank 0" is the data-parallel group of
  /// rank 0.
  std::string group;
  int group_size = 0;      // ranks in the group
  std::int64_t bytes = 0;  // S as nccl-tests counts it: the full buffer
};
struct Span {
  std::uint32_t track = 0;
  NameId name = 0;
  Category category = Category::compute;
  Nanoseconds start = 0, end = 0;  // half-open
  std::int32_t micro_batch = -1;
  std::int32_t payload = -1;  // index into Timeline::payloads; -1 = none, or not known
};
/// An arrow between two moments on two tracks (a message, or launch to kernel).
struct Flow {
  std::uint32_t from_track = 0, to_track = 0;
  Nanoseconds from = 0, to = 0;
  NameId name = 0;
};

/// What a rank holds from a moment on.
struct CounterSample {
  int node = 0, rank = 0;
  Nanoseconds at = 0;
  double bytes = 0;
};

struct Timeline {
  NameTable names;
  std::vector<Track> tracks;
  std::vector<Span> spans;
  std::vector<Flow> flows;
  std::vector<Payload> payloads;
  std::vector<CounterSample> memory;  // of each rank in order of time
  std::string origin;                 // "simulated" or "measured"
};
}  // namespace stepcast
