#include "sim/io/unfinished_file.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>

#include "tests/support/temp_path.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
namespace {
/// A process that began a file and is sent a signal; finishes: it was done with the file before.
int status_after(int signal_number, const std::string& name, bool finishes) {
  const pid_t child = fork();
  if (child == 0) {
    remove_unfinished_on_signals();
    std::optional<UnfinishedFile> unfinished(name);
    std::ofstream(name) << "half";
    if (finishes) unfinished.reset();
    raise(signal_number);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}
}  // namespace

TEST_CASE("a signal removes what is unfinished and ends the process as it would have", "[files]") {
  for (const int signal_number : {SIGINT, SIGTERM}) {
    const test::TempPath file("half.part");
    const int status = status_after(signal_number, file.path, false);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == signal_number);
    CHECK_FALSE(std::filesystem::exists(file.path));
    status_after(signal_number, file.path, true);
    CHECK(std::filesystem::exists(file.path));
  }
}
