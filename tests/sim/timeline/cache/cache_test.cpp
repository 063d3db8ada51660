#include <filesystem>

#include "sim/io/files.hpp"
#include "sim/timeline/cache/cache.hpp"
#include "sim/timeline/read/slice_args.hpp"
#include "tests/sim/timeline/trace_fixtures.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::trace;
using test::TempPath;

namespace {
const std::string kText =
    R"({"traceEvents":[{"ph":"X","name":"a","cat":"compute","pid":1,"tid":1,"ts":1,"dur":2,"args":{"k":1}},{"ph":"X","name":"long","pid":1,"tid":1,"ts":5,"dur":9000000},)"
    R"({"ph":"i","name":"mark","pid":1,"tid":1,"ts":2},{"ph":"C","name":"mem","pid":1,"ts":1,"args":{"used":5}},{"ph":"s","id":1,"name":"f","pid":1,"tid":1,"ts":1},)"
    R"({"ph":"f","bp":"e","id":1,"name":"f","pid":1,"tid":1,"ts":5},{"ph":"X","name":"no time","pid":1,"tid":1}]})";
std::string bytes_of(const std::string& path) {
  std::string bytes;
  std::FILE* in = std::fopen(path.c_str(), "rb");
  char block[4096];
  while (const std::size_t got = std::fread(block, 1, sizeof block, in)) bytes.append(block, got);
  std::fclose(in);
  return bytes;
}
void put_bytes(const std::string& path, const std::string& bytes) {
  std::FILE* out = std::fopen(path.c_str(), "wb");
  std::fwrite(bytes.data(), 1, bytes.size(), out);
  std::fclose(out);
}
}  // namespace

TEST_CASE("a cached trace is the one that was read", "[cache]") {
  const TempPath file("source.json", kText), folder("cache_folder");
  OpenOptions options;
  options.cache_folder = folder.path;
  const OpenResult first = open_trace({file.path}, options),
                   second = open_trace({file.path}, options);
  CHECK(!first.is_from_cache);
  REQUIRE(second.is_from_cache);
  const TraceStore &a = *first.trace, &b = *second.trace;
  REQUIRE(a.slices() == b.slices());
  for (SliceId s = 0; s < a.slices(); ++s) {
    CHECK(a.start(s) == b.start(s));
    CHECK(a.duration(s) == b.duration(s));
    CHECK(a.name(s) == b.name(s));
    CHECK(a.category(s) == b.category(s));
  }
  CHECK(b.instants().size() == 1);
  CHECK(b.counters().size() == 1);
  CHECK(b.flows().size() == 1);
  CHECK(b.flows()[0].from == a.flows()[0].from);
  CHECK(second.report.events == first.report.events);
  CHECK(second.report.lost == 1);
  CHECK(second.report.anomalies.count_of("event_without_time") == 1);
  CHECK(read_slice_args(b, test::slice_named(b, "a", 1000))->args.front().second == "1");
}

TEST_CASE("a cache is not used when its source or a bit of it changed", "[cache]") {
  const TempPath file("changing.json", kText), folder("cache_folder2");
  OpenOptions options;
  options.cache_folder = folder.path;
  open_trace({file.path}, options);
  const std::string cache = cache_path({file.path}, folder.path);
  REQUIRE(read_cache(cache, {file.path}));
  const std::string good = bytes_of(cache);
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{9}, std::size_t{300}, good.size() / 2, good.size() - 1}) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    put_bytes(cache, bad);
    INFO(at);
    CHECK(!read_cache(cache, {file.path}));
  }
  put_bytes(cache, good.substr(0, good.size() / 2));
  CHECK(!read_cache(cache, {file.path}));
  put_bytes(cache, good);
  REQUIRE(read_cache(cache, {file.path}));
  write_file(file.path, kText + " ");
  CHECK(!read_cache(cache, {file.path}));
  std::filesystem::remove(file.path);
  CHECK(!read_cache(cache, {file.path}));
}

TEST_CASE("the cache folder is trimmed from its oldest file on", "[cache]") {
  const TempPath folder("cache_folder3");
  for (int i = 0; i < 4; ++i) {
    const std::string path = folder.path + "/" + std::to_string(i) + ".stepcast-cache";
    write_file(path, std::string(1000, 'x'));
    std::filesystem::last_write_time(
        path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(10 - i));
  }
  trim_cache(folder.path, 2500);
  CHECK(!std::filesystem::exists(folder.path + "/0.stepcast-cache"));
  CHECK(!std::filesystem::exists(folder.path + "/1.stepcast-cache"));
  CHECK(std::filesystem::exists(folder.path + "/2.stepcast-cache"));
  CHECK(std::filesystem::exists(folder.path + "/3.stepcast-cache"));
}

TEST_CASE("a trace that enters the cache drives out the oldest ones beyond the limit", "[cache]") {
  const TempPath old_file("old.json", kText), new_file("new.json", kText), folder("cache_folder4");
  OpenOptions options;
  options.cache_folder = folder.path;
  open_trace({old_file.path}, options);
  const std::string oldest = cache_path({old_file.path}, folder.path),
                    newest = cache_path({new_file.path}, folder.path);
  REQUIRE(std::filesystem::exists(oldest));
  std::filesystem::last_write_time(
      oldest, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  options.cache_limit_bytes =
      std::filesystem::file_size(oldest) + 1000;  // room for one of two equal traces
  open_trace({new_file.path}, options);
  CHECK(!std::filesystem::exists(oldest));
  CHECK(std::filesystem::exists(newest));
}
