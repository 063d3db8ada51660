#include <algorithm>
#include <limits>
#include <map>

#include "runtime/capture/recorder.hpp"
#include "sim/timeline/op_names.hpp"

namespace stepcast::runtime {

Timeline timeline_of(const std::vector<OpLabel>& labels, const std::vector<Activity>& activities,
                     const std::vector<std::string>& streams, int node, int rank) {
  Timeline timeline;
  timeline.origin = "measured";
  for (const std::string& stream : streams) timeline.tracks.push_back({node, rank, stream});
  const auto host = static_cast<std::uint32_t>(timeline.tracks.size());
  timeline.tracks.push_back({node, rank, "host"});

  Nanoseconds origin = std::numeric_limits<Nanoseconds>::max();
  for (const OpLabel& label : labels) origin = std::min(origin, label.issued_from);
  for (const Activity& activity : activities) origin = std::min(origin, activity.start);

  std::map<std::pair<std::int32_t, std::uint32_t>, std::size_t> span_of;  // (label, stream) -> span
  for (const Activity& activity : activities) {
    const bool is_labelled =
        activity.label >= 0 && activity.label < static_cast<std::int32_t>(labels.size());
    const std::pair key{activity.label, activity.stream};
    if (const auto found = span_of.find(key); is_labelled && found != span_of.end()) {
      Span& span = timeline.spans[found->second];
      span.start = std::min(span.start, activity.start - origin);
      span.end = std::max(span.end, activity.end - origin);
      continue;
    }
    Span span;
    span.track = activity.stream;
    span.start = activity.start - origin;
    span.end = activity.end - origin;
    span.category = Category::other;
    span.name = timeline.names.id_of(std::string(op::custom));
    if (is_labelled) {
      const OpLabel& label = labels[static_cast<std::size_t>(activity.label)];
      span.name = timeline.names.id_of(std::string(label.name));
      span.category = label.category;
      span.micro_batch = label.micro_batch;
      span_of.emplace(key, timeline.spans.size());
    }
    timeline.spans.push_back(span);
  }
  for (const OpLabel& label : labels) {
    Span span;
    span.track = host;
    span.name = timeline.names.id_of(std::string(label.name));
    span.category = label.category;
    span.micro_batch = label.micro_batch;
    span.start = label.issued_from - origin;
    span.end = std::max(span.start, label.issued_to - origin);
    timeline.spans.push_back(span);
  }
  std::stable_sort(timeline.spans.begin(), timeline.spans.end(), [](const Span& a, const Span& b) {
    return a.track != b.track ? a.track < b.track : a.start < b.start;
  });
  return timeline;
}
}  // namespace stepcast::runtime
