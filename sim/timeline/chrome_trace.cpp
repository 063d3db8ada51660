#include "sim/timeline/chrome_trace.hpp"

#include <algorithm>
#include <map>

#include "sim/core/assert.hpp"
#include "sim/timeline/json_file.hpp"

namespace stepcast {
std::string payload_args(const Payload& payload) {
  return fmt::format(",\"collective\":{},\"group\":{},\"group_size\":{},\"bytes\":{}",
                     json_quoted(payload.collective), json_quoted(payload.group),
                     payload.group_size, payload.bytes);
}

void write_chrome_trace(const Timeline& timeline, const std::string& path) {
  TraceFile out(path);
  // Tracks of a rank stand together, in the order in which the timeline lists them; tid counts from
  // 1 within a node because 0 is drawn as the process itself by some viewers.
  std::map<int, int> tracks_of_node;
  std::vector<int> tid(timeline.tracks.size());
  std::vector<std::size_t> order(timeline.tracks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(timeline.tracks[a].node, timeline.tracks[a].rank) <
           std::pair(timeline.tracks[b].node, timeline.tracks[b].rank);
  });
  for (const std::size_t i : order) tid[i] = ++tracks_of_node[timeline.tracks[i].node];

  out.add(
      "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"origin\":{},\"writer\":\"stepcast\"}},"
      "\"traceEvents\":[\n",
      json_quoted(timeline.origin));
  const char* separator = "";
  const auto next = [&] {
    const char* s = separator;
    separator = ",\n";
    return s;
  };
  for (const auto& [node, count] : tracks_of_node) {
    out.add(
        "{}{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"tid\":0,\"args\":{{\"name\":"
        "\"node {}\"}}}}",
        next(), node, node);
    out.add(
        "{}{{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":{},\"tid\":0,\"args\":{{\"sort_"
        "index\":{}}}}}",
        next(), node, node);
  }
  for (const std::size_t i : order) {
    const Track& track = timeline.tracks[i];
    out.add(
        "{}{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}"
        "}",
        next(), track.node, tid[i],
        json_quoted(fmt::format("rank {} {}", track.rank, track.stream)));
    out.add(
        "{}{{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":{},\"tid\":{},\"args\":{{\"sort_"
        "index\":{}}}}}",
        next(), track.node, tid[i], tid[i]);
  }
  for (const Span& span : timeline.spans) {
    STEPCAST_ASSERT(span.track < timeline.tracks.size() && span.end >= span.start,
                    "spans lie on tracks and do not run backwards");
    const Track& track = timeline.tracks[span.track];
    out.add(
        "{}{{\"ph\":\"X\",\"name\":{},\"cat\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},"
        "\"args\":{{\"rank\":{}",
        next(), json_quoted(timeline.names.text_of(span.name)), text_of(span.category), track.node,
        tid[span.track], us_text(span.start), us_text(span.end - span.start), track.rank);
    if (span.micro_batch >= 0) out.add(",\"micro_batch\":{}", span.micro_batch);
    if (span.payload >= 0)
      out.add("{}", payload_args(timeline.payloads[static_cast<std::size_t>(span.payload)]));
    out.add("}}}}");
  }
  std::size_t id = 0;
  for (const Flow& flow : timeline.flows) {
    ++id;
    const Track& from = timeline.tracks[flow.from_track];
    const Track& to = timeline.tracks[flow.to_track];
    const std::string name = json_quoted(timeline.names.text_of(flow.name));
    out.add(
        "{}{{\"ph\":\"s\",\"id\":{},\"name\":{},\"cat\":\"flow\",\"pid\":{},\"tid\":{},\"ts\":{}}}",
        next(), id, name, from.node, tid[flow.from_track], us_text(flow.from));
    // bp "e": the arrow ends at the slice that encloses the moment, also when it starts exactly
    // there.
    out.add(
        "{}{{\"ph\":\"f\",\"bp\":\"e\",\"id\":{},\"name\":{},\"cat\":\"flow\",\"pid\":{},\"tid\":{}"
        ",\"ts\":{}}}",
        next(), id, name, to.node, tid[flow.to_track], us_text(flow.to));
  }
  for (const CounterSample& sample : timeline.memory)
    out.add(
        "{}{{\"ph\":\"C\",\"name\":\"rank {} "
        "memory\",\"pid\":{},\"ts\":{},\"args\":{{\"memory bytes\":{:.0f}"
        "}}}}",
        next(), sample.rank, sample.node, us_text(sample.at), sample.bytes);
  out.add("\n]}}\n");
  out.finish();
}
}  // namespace stepcast
