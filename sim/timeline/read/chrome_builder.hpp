#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/import/chrome_json/chrome_json.hpp"
#include "sim/timeline/read/event_pairs.hpp"
#include "sim/timeline/read/import_report.hpp"
#include "sim/timeline/store/interner.hpp"
#include "sim/timeline/store/store_builder.hpp"

namespace stepcast::trace {
/// A collective on one file's clock, for aligning clocks between files.
struct CollectiveMark {
  std::uint32_t key = 0;
  Nanoseconds start = 0, end = 0;
};
struct StepMarkSeen {
  std::int64_t number = 0;
  Nanoseconds start = 0, end = 0;
};

/// Events of one Chrome-trace file into a StoreBuilder; every event is counted in the report as
/// something or as lost.
class ChromeBuilder {
 public:
  ChromeBuilder(std::string path, ImportReport& report);
  void take(const chrome_json::RawEvent& event);
  void end_document(const std::string& metadata);
  /// Pairs, arrows, names; the file's last word. `fallback_rank`: from the file's name, -1 = none.
  void finish(int fallback_rank);
  /// Names as far as they are known, for a partial store.
  void name_tracks(int fallback_rank);

  StoreBuilder& builder() { return builder_; }
  const std::string& format() const { return format_; }
  int rank() const { return rank_; }  // as the file or its name states; -1 = none
  const std::vector<CollectiveMark>& collectives() const { return marks_; }
  const std::string& mark_key(std::uint32_t key) const { return mark_keys_.text_of(key); }
  const std::vector<StepMarkSeen>& steps() const { return steps_; }
  std::uint32_t sources() const { return static_cast<std::uint32_t>(bases_.size()); }
  std::int64_t events() const { return events_; }

 private:
  struct TrackState {
    std::uint32_t document = 0;
    std::string pid, tid, thread_name, group;  // group: async category or counter's name
    std::int64_t sort = 0;
    TrackKind kind = TrackKind::host_thread, stated_kind = TrackKind::device_stream;
    bool has_stated_kind = false;
    bool has_name = false, has_events = false, is_device = false, is_host = false;
  };
  struct ProcessState {
    std::string name, labels;
    std::int64_t sort = 0;
    bool has_sort = false;
    std::size_t renames = 0;
  };
  std::uint32_t track_of(std::string_view pid, std::string_view tid);
  std::uint32_t side_track_of(TrackKind kind, std::string_view pid, std::string_view group);
  OpId op_of(std::string_view name, std::string_view category, std::string_view args);
  void take_complete(const chrome_json::RawEvent& event);
  void take_metadata(const chrome_json::RawEvent& event);
  void take_counter(const chrome_json::RawEvent& event);
  void take_async(const chrome_json::RawEvent& event);
  void take_flow(const chrome_json::RawEvent& event, std::string_view id, char phase);
  void take_instant(const chrome_json::RawEvent& event);
  void note_collective(const chrome_json::RawEvent& event, bool has_identity_args);
  void lose(const char* name, const char* advice, std::uint64_t offset);
  void note(const char* name, Severity severity, const char* advice, std::uint64_t offset);
  std::uint64_t flow_key(std::string_view category, std::string_view id) const;

  std::string path_, format_ = "chrome";
  ImportReport& report_;
  StoreBuilder builder_;
  std::uint32_t document_ = 0, source_ = 0;
  int rank_ = -1;
  bool is_ours_ = false, is_kineto_ = false;
  std::string host_;
  std::int64_t events_ = 0;

  Interner track_keys_, mark_keys_;
  std::vector<TrackState> tracks_;
  std::map<std::pair<std::uint32_t, std::string>, ProcessState> processes_;  // document, pid
  std::string last_pid_, last_tid_;
  std::uint32_t last_track_ = kNoId;

  struct KnownOp {
    std::uint32_t category = kNoId;
    OpId op = 0;
    bool needs_args = false, is_communication = false;
  };
  std::vector<KnownOp> op_by_name_;  // by text id: the category it had last
  std::string last_category_;
  std::uint32_t last_category_id_ = kNoId;
  bool op_is_communication_ = false;

  std::vector<PairEvent> threads_, asyncs_;
  std::vector<FlowEvent> flows_;
  std::vector<CollectiveMark> marks_;
  std::vector<StepMarkSeen> steps_;
  std::vector<Nanoseconds> bases_;  // by source
};
}  // namespace stepcast::trace
