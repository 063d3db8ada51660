#include <filesystem>

#include "sim/io/files.hpp"
#include "sim/io/json.hpp"
#include "sim/timeline/session/session.hpp"
#include "tests/sim/timeline/trace_fixtures.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::trace;
using test::TempPath;

namespace {
Session full() {
  Session s;
  s.traces = {{{"a.json", "b.json"}, "A"}, {{"c.json"}, "B"}};
  s.view = {"", 5, 1'000'000'007, 2.5, 18};
  s.views = {{"zoom", -3, 9, 0, 4}};
  s.pinned = {"node 0/rank 3/compute"}, s.hidden = {"x"}, s.collapsed = {"node 1"};
  s.bookmarks = {{42, "", "here \"it\" is\n\xc3\xa9", "#ff0000"}};
  s.notes = {{1, 2, "t", "n"}};
  s.filters = {"dur > 1ms"}, s.scenarios = {"s.json"};
  s.alignment = "every_step", s.manual_offset = -7, s.layout = "AAAA",
  s.settings = {{"theme", "dark"}, {"order", "slowness"}};
  return s;
}
}  // namespace

TEST_CASE("a session reads back as it was written", "[session]") {
  const TempPath file("session.json");
  write_session(file.path, full());
  const auto back = read_session(file.path);
  REQUIRE(back);
  CHECK(session_json(*back).dump() == session_json(full()).dump());
  CHECK(back->view.end == 1'000'000'007);
  CHECK(back->settings[1].second == "slowness");
}

TEST_CASE("a wrong session names the place and the nearest key", "[session]") {
  const TempPath file("wrong.json",
                      R"({"stepcast_session": 1, "bookmark": [], "view": {"begin_ns": "x"}})");
  const auto back = read_session(file.path);
  REQUIRE(!back);
  CHECK(back.problems().text().find("bookmarks") != std::string::npos);
  CHECK(back.problems().text().find("/view/begin_ns") != std::string::npos);
}

TEST_CASE("an autosave survives until the session is saved", "[session]") {
  const TempPath file("auto.json");
  Session s = full();
  {
    Autosave autosave(file.path);
    CHECK(autosave.save(s));
    CHECK(!autosave.save(s));  // nothing new
    s.notes.push_back({3, 4, "", "later"});
    CHECK(autosave.save(s));
  }  // the program is gone without saving
  Autosave after(file.path);
  const auto found = after.recover();
  REQUIRE(found);
  CHECK(found->notes.size() == 2);
  write_file(after.file(), "{ half");
  CHECK(!after.recover());
  after.remove();
  CHECK(!std::filesystem::exists(after.file()));
}
