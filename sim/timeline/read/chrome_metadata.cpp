#include <fmt/format.h>

#include "sim/timeline/read/chrome_builder.hpp"
#include "sim/timeline/read/event_values.hpp"
#include "sim/timeline/read/members.hpp"

/// Names of processes and threads, and what a file says about itself.
namespace stepcast::trace {
using chrome_json::RawEvent;
using chrome_json::value_of;

void ChromeBuilder::take_metadata(const RawEvent& event) {
  ++report_.metadata;
  const auto text_arg = [&](std::string_view key) { return plain(value_of(event.args, key)); };
  if (event.name == "thread_name" || event.name == "thread_sort_index") {
    TrackState& state = tracks_[track_of(event.pid, event.tid)];
    if (event.name == "thread_name")
      state.thread_name = text_arg("name"), state.has_name = true;
    else
      state.sort = integer_of(value_of(event.args, "sort_index"), 0);
    return;
  }
  if (event.name == "stepcast_track") {  // our own export says what a row was
    TrackState& state = tracks_[track_of(event.pid, event.tid)];
    const std::string_view kind = value_of(event.args, "kind");
    state.stated_kind = kind == "host_thread" ? TrackKind::host_thread
                        : kind == "async"     ? TrackKind::async
                                              : TrackKind::device_stream;
    state.has_stated_kind = true;
    return;
  }
  ProcessState& process = processes_[{document_, std::string(event.pid)}];
  if (event.name == "process_name") {
    std::string name = text_arg("name");
    if (!process.name.empty() && process.name != name) {
      note("process_renamed", Severity::warning,
           "one pid has several names: traces merged without renumbering share rows; merge them as "
           "a folder of files instead",
           event.offset);
      if (process.renames++ < 4 && process.name.find(name) == std::string::npos)
        name = process.name + " / " + name;
      else
        name = process.name;
    }
    process.name = std::move(name);
  } else if (event.name == "process_labels") {
    process.labels = text_arg("labels");
  } else if (event.name == "process_sort_index") {
    process.sort = integer_of(value_of(event.args, "sort_index"), 0), process.has_sort = true;
  } else {
    builder_.add_metadata(source_, fmt::format("{} (pid {})", event.name, event.pid),
                          plain(event.args));
  }
}

void ChromeBuilder::end_document(const std::string& metadata) {
  const std::string_view info = value_of(metadata, "distributedInfo");
  if (const std::int64_t rank = integer_of(value_of(info, "rank"), -1);
      rank >= 0 && rank < 100'000'000 && document_ == 0)
    rank_ = static_cast<int>(rank);
  if (!info.empty() || !value_of(metadata, "deviceProperties").empty() || is_kineto_)
    format_ = "kineto";
  const std::string_view other = value_of(metadata, "otherData");
  is_ours_ = value_of(other, "writer") == "stepcast";
  if (is_ours_) {
    format_ = "stepcast";
    builder_.set_origin(plain(value_of(other, "origin")));
  }
  for (const std::string_view key : {"hostname", "host_name", "host"})
    if (host_.empty()) host_ = plain(value_of(metadata, key));
  const std::int64_t base = integer_of(value_of(metadata, "baseTimeNanoseconds"), 0);
  if (base > 0 && base < (std::int64_t{1} << 61)) bases_[source_] = base;
  for_each_member(metadata, [&](std::string_view key, std::string_view value, bool) {
    if (key != "traceEvents")
      builder_.add_metadata(
          source_, plain(key),
          value.size() > 100'000 ? plain(value.substr(0, 100'000)) + " ..." : plain(value));
  });
  // What may follow is another document with processes and a time base of its own.
  ++document_;
  last_track_ = kNoId;
  SourceFile file;
  file.path = path_;
  source_ = builder_.add_source(std::move(file));
  bases_.push_back(0);
}
}  // namespace stepcast::trace
