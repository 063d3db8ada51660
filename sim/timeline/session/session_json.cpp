#include <algorithm>

#include "sim/io/json.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/timeline/session/session.hpp"

namespace stepcast::trace {
namespace {
constexpr int kVersion = 1;
/// Before the trace's begin lies what a user pans to; a century on either side is enough and keeps
/// sums far from overflow.
constexpr std::int64_t kFarthest = std::int64_t{3} << 60;
constexpr IntegerField kTime{.fallback = 0, .min = -kFarthest, .max = kFarthest};

Json view_json(const SessionView& view) {
  return {{"name", view.name},
          {"begin_ns", view.begin},
          {"end_ns", view.end},
          {"first_row", view.first_row},
          {"row_height_px", view.row_height}};
}
SessionView view_of(ObjectReader& r) {
  SessionView view;
  view.name = r.text("name", "");
  view.begin = r.integer("begin_ns", kTime), view.end = r.integer("end_ns", kTime);
  view.first_row = r.number("first_row", {.fallback = 0, .min = -1e9, .max = 1e9});
  view.row_height = r.number("row_height_px", {.fallback = 0, .min = 0, .max = 1e6});
  r.done();
  return view;
}
}  // namespace

Json session_json(const Session& s) {
  Json j;
  j["stepcast_session"] = kVersion;
  j["traces"] = Json::array();
  for (const SessionTrace& t : s.traces)
    j["traces"].push_back({{"paths", t.paths}, {"role", t.role}});
  j["view"] = view_json(s.view);
  j["views"] = Json::array();
  for (const SessionView& view : s.views) j["views"].push_back(view_json(view));
  j["pinned"] = s.pinned, j["hidden"] = s.hidden, j["collapsed"] = s.collapsed;
  j["bookmarks"] = Json::array();
  for (const SessionBookmark& b : s.bookmarks)
    j["bookmarks"].push_back(
        {{"time_ns", b.time}, {"track", b.track}, {"text", b.text}, {"colour", b.colour}});
  j["notes"] = Json::array();
  for (const SessionNote& n : s.notes)
    j["notes"].push_back(
        {{"begin_ns", n.begin}, {"end_ns", n.end}, {"track", n.track}, {"text", n.text}});
  j["filters"] = s.filters, j["scenarios"] = s.scenarios;
  j["alignment"] = s.alignment, j["manual_offset_ns"] = s.manual_offset;
  j["layout"] = s.layout;
  j["settings"] = Json::array();  // a list of pairs: the order is the user's
  for (const auto& [key, value] : s.settings)
    j["settings"].push_back({{"key", key}, {"value", value}});
  return j;
}

Result<Session> session_from_json(const Json& json, const std::string& file) {
  Problems problems;
  Session s;
  ObjectReader r(json, file, "", problems);
  r.integer("stepcast_session", {.min = 1, .max = kVersion});
  for (ObjectReader& t : r.objects("traces")) {
    SessionTrace trace;
    trace.paths = t.texts("paths"), trace.role = t.text("role", "");
    t.done();
    s.traces.push_back(std::move(trace));
  }
  if (auto view = r.object("view")) s.view = view_of(*view);
  for (ObjectReader& view : r.objects("views")) s.views.push_back(view_of(view));
  s.pinned = r.texts("pinned"), s.hidden = r.texts("hidden"), s.collapsed = r.texts("collapsed");
  for (ObjectReader& b : r.objects("bookmarks")) {
    s.bookmarks.push_back({b.integer("time_ns", kTime), b.text("track", ""), b.text("text", ""),
                           b.text("colour", "")});
    b.done();
  }
  for (ObjectReader& n : r.objects("notes")) {
    SessionNote note;
    note.begin = n.integer("begin_ns", kTime), note.end = n.integer("end_ns", kTime),
    note.track = n.text("track", ""), note.text = n.text("text", "");
    n.done();
    s.notes.push_back(std::move(note));
  }
  s.filters = r.texts("filters"), s.scenarios = r.texts("scenarios");
  s.alignment = r.text("alignment", ""), s.manual_offset = r.integer("manual_offset_ns", kTime);
  s.layout = r.text("layout", "");
  for (ObjectReader& entry : r.objects("settings")) {
    const std::string key = entry.text("key"), value = entry.text("value", "");
    entry.done();
    s.settings.emplace_back(key, value);
  }
  r.done();
  if (!problems.empty()) return problems;
  return s;
}
}  // namespace stepcast::trace
