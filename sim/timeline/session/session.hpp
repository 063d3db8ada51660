#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/result.hpp"
#include "sim/core/units.hpp"
#include "sim/io/json_fwd.hpp"

/// What a user made of a trace: views, pins, notes, bookmarks, filters, scenarios. A plain value
/// with a JSON form.
namespace stepcast::trace {
struct SessionView {
  std::string name;
  Nanoseconds begin = 0, end = 0;  // from the trace's begin, so that it fits a re-run
  double first_row = 0, row_height = 0;
};
struct SessionBookmark {
  Nanoseconds time = 0;
  std::string track, text;
  std::string colour;
};  // track: "rank 3/compute", "" = all
struct SessionNote {
  Nanoseconds begin = 0, end = 0;
  std::string track, text;
};
struct SessionTrace {
  std::vector<std::string> paths;
  std::string role;
};  // role: "A", "B", ""
struct Session {
  std::vector<SessionTrace> traces;
  SessionView view;                                    // the present one
  std::vector<SessionView> views;                      // stored ones; index 0..9 = the keys
  std::vector<std::string> pinned, hidden, collapsed;  // tracks by path "node 0/rank 3/compute"
  std::vector<SessionBookmark> bookmarks;
  std::vector<SessionNote> notes;
  std::vector<std::string> filters, scenarios;
  std::string alignment;  // of the compared pair
  Nanoseconds manual_offset = 0;
  std::string layout;  // the window's own state, opaque (base64)
  std::vector<std::pair<std::string, std::string>> settings;  // colour mode, order, ...
};
Json session_json(const Session& session);
/// Problems name the JSON pointer; unknown keys are problems with the nearest known one.
Result<Session> session_from_json(const Json& json, const std::string& file);
/// Written beside, synced to disk and renamed: a crash or a full disk leaves the earlier file
/// whole. Throws EnvironmentError.
void write_session(const std::string& path, const Session& session);
Result<Session> read_session(const std::string& path);

/// Autosave: `path`.autosave holds what is not yet in `path`. It is removed by a clean save; one
/// found at the start is what a crash left.
class Autosave {
 public:
  explicit Autosave(std::string path) : path_(std::move(path)) {}
  /// Writes when the session differs from the last one written. Returns true when written.
  bool save(const Session& session);
  /// What a crash left, if it is readable and newer than `path`.
  std::optional<Session> recover() const;
  void remove();
  std::string file() const { return path_ + ".autosave"; }

 private:
  std::string path_, last_;
};
}  // namespace stepcast::trace
