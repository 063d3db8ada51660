#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/capture/recorder.hpp"

/// A device's activity records with the tracing library's ids still in them, and how they become
/// activities of labels. Pure.
namespace stepcast::runtime {

/// One kernel, copy or fill.
struct DeviceRecord {
  enum class Kind : std::uint8_t { kernel, copy, peer_copy, fill, graph };
  Kind kind = Kind::kernel;
  Nanoseconds start = 0, end = 0;
  std::uint32_t stream = 0;       // the library's stream id
  std::uint32_t correlation = 0;  // of the host call that enqueued it
  std::uint64_t graph_node = 0;   // 0: not from a graph
  std::string name;               // of a kernel
};
/// What a person should know about records that were not used.
struct RecordLosses {
  std::int64_t dropped =
      0;  // the library had no buffer left; give it more memory or trace fewer steps
  std::int64_t untimed =
      0;  // start or end 0: the device's pool of timestamps ran out; flush more often
  std::int64_t unknown = 0;  // records of kinds that this program does not read
  std::int64_t foreign_stream =
      0;  // work on streams that were not made through the seam (a library's own)
  std::string text() const;  // "" when nothing was lost
  bool spoils(std::int64_t used)
      const;  // more than 0.1 % untimed or any dropped: durations are not to be trusted
};
struct RecordBatch {
  std::vector<DeviceRecord> records;
  std::map<std::uint32_t, std::uint64_t>
      external_of;  // correlation -> external id that was on top of the host thread's stack
  RecordLosses losses;
};

/// Activities in order of start. The label is external id - 1 (0 means none); work of a graph has
/// the label of its node where `label_of_node` knows it, since no host call is made per node.
/// `index_of` maps the library's stream ids to the recorder's.
std::vector<Activity> activities_of(RecordBatch& batch,
                                    const std::map<std::uint32_t, std::uint32_t>& index_of,
                                    const std::map<std::uint64_t, std::int32_t>& label_of_node);
}  // namespace stepcast::runtime
