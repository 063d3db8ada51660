#include "runtime/capture/device_records.hpp"

#include <algorithm>

namespace stepcast::runtime {
std::string RecordLosses::text() const {
  std::string text;
  const auto add = [&](std::int64_t count, const char* what) {
    if (count > 0) text += (text.empty() ? "" : "; ") + std::to_string(count) + " " + what;
  };
  add(dropped, "records dropped for want of buffers (trace fewer steps)");
  add(untimed, "records without times (the device's timestamp pool ran out; trace fewer steps)");
  add(unknown, "records of unknown kinds");
  add(foreign_stream, "records on streams of other libraries");
  return text;
}
bool RecordLosses::spoils(std::int64_t used) const { return dropped > 0 || untimed * 1000 > used; }

std::vector<Activity> activities_of(RecordBatch& batch,
                                    const std::map<std::uint32_t, std::uint32_t>& index_of,
                                    const std::map<std::uint64_t, std::int32_t>& label_of_node) {
  std::vector<Activity> activities;
  for (const DeviceRecord& record : batch.records) {
    if (record.start == 0 || record.end == 0 || record.end < record.start) {
      ++batch.losses.untimed;
      continue;
    }
    const auto stream = index_of.find(record.stream);
    if (stream == index_of.end()) {
      ++batch.losses.foreign_stream;
      continue;
    }
    Activity activity{-1, stream->second, record.start, record.end};
    if (const auto node = label_of_node.find(record.graph_node);
        record.graph_node != 0 && node != label_of_node.end())
      activity.label = node->second;
    else if (const auto external = batch.external_of.find(record.correlation);
             external != batch.external_of.end())
      activity.label = static_cast<std::int32_t>(external->second) - 1;
    activities.push_back(activity);
  }
  std::stable_sort(activities.begin(), activities.end(),
                   [](const Activity& a, const Activity& b) { return a.start < b.start; });
  return activities;
}
}  // namespace stepcast::runtime
