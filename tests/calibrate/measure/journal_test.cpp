#include "calibrate/measure/journal.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sim/core/result.hpp"
#include "tests/support/test.hpp"

namespace stepcast::calibrate::test {
namespace {
struct TemporaryFile {
  std::string path = (std::filesystem::temp_directory_path() /
                      ("journal_test_" + std::to_string(getpid()) + ".jsonl"))
                         .string();
  TemporaryFile() { std::filesystem::remove(path); }
  ~TemporaryFile() { std::filesystem::remove(path); }
};
Entry entry(const std::string& key, double median) {
  Entry e{key, {}};
  e.summary.n = 7, e.summary.median_s = median, e.summary.quality = Quality::drifting,
  e.summary.reason = "time";
  return e;
}
}  // namespace

TEST_CASE("a journal gives back what it was given and goes on behind it", "[calibrate]") {
  const TemporaryFile file;
  {
    Journal journal(file.path, "machine A");
    journal.add("gemm", {entry("gemm/1", 0.5), entry("gemm/2", 0.25)});
    journal.add("disk", {entry("disk/write", 3)});
  }
  Journal journal(file.path, "machine A");
  REQUIRE(journal.resumed() == 2);
  REQUIRE(journal.has("gemm"));
  REQUIRE_FALSE(journal.has("step"));
  journal.add("step", {entry("step/measured", 9)});
  const auto entries = journal.entries();
  REQUIRE(entries.size() == 4);
  REQUIRE(entries[1].key == "gemm/2");
  REQUIRE(entries[1].summary.median_s == 0.25);
  REQUIRE(entries[1].summary.quality == Quality::drifting);
  REQUIRE(entries[3].key == "step/measured");
}
TEST_CASE("a line that a kill tore is dropped and everything before it is kept", "[calibrate]") {
  const TemporaryFile file;
  {
    Journal journal(file.path, "m");
    journal.add("a", {entry("a", 1)});
    journal.add("b", {entry("b", 2)});
  }
  const auto whole = std::filesystem::file_size(file.path);
  for (const std::uintmax_t torn : {whole - 1, whole - 20}) {
    std::filesystem::resize_file(file.path, torn);
    Journal journal(file.path, "m");
    REQUIRE(journal.has("a"));
    REQUIRE_FALSE(journal.has("b"));
    journal.add("b", {entry("b", 2)});
  }
  Journal journal(file.path, "m");
  REQUIRE(journal.tasks() == std::vector<std::string>{"a", "b"});
}
TEST_CASE("a journal of another machine or software is refused with both names", "[calibrate]") {
  const TemporaryFile file;
  { Journal journal(file.path, "machine A, oneDNN 2.6"); }
  REQUIRE_THROWS_WITH(Journal(file.path, "machine B"),
                      Catch::Contains("machine A, oneDNN 2.6") && Catch::Contains("machine B"));
}
TEST_CASE("two calibrations cannot write one journal", "[calibrate]") {
  const TemporaryFile file;
  Journal journal(file.path, "m");
  REQUIRE_THROWS_WITH(Journal(file.path, "m"),
                      Catch::Contains("another calibration is writing it"));
}
TEST_CASE("an output that cannot be written is the environment's fault and says why",
          "[calibrate]") {
  REQUIRE_THROWS_AS(Journal("/proc/none/j.jsonl", "m"), EnvironmentError);
}
}  // namespace stepcast::calibrate::test
