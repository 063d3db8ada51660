#include "runtime/launch/spawn.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>

#include "runtime/launch/tcp_store.hpp"
#include "sim/core/assert.hpp"

namespace stepcast::runtime {
namespace {
using Clock = std::chrono::steady_clock;

[[noreturn]] void become_rank(int rank, int ranks, int port,
                              const std::vector<std::string>& arguments, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(3);  // it died before the line above
  ::setenv("RANK", std::to_string(rank).c_str(), 1);
  ::setenv("WORLD_SIZE", std::to_string(ranks).c_str(), 1);
  ::setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
  ::setenv("MASTER_ADDR", "127.0.0.1", 1);
  ::setenv("MASTER_PORT", std::to_string(port).c_str(), 1);
  std::vector<char*> pointers;
  for (const std::string& argument : arguments)
    pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  ::execv("/proc/self/exe", pointers.data());
  ::_exit(127);
}
int exit_code_of(int rank, int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  fmt::print(stderr, "rank {}: ended by signal {} ({})\n", rank, WTERMSIG(status),
             ::strsignal(WTERMSIG(status)));
  return 3;
}
}  // namespace

int run_local_ranks(int ranks, const std::vector<std::string>& arguments) {
  const int port = free_port();
  const pid_t self = ::getpid();
  std::map<pid_t, int> running;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = ::fork();
    if (child < 0)
      throw EnvironmentError(fmt::format("cannot start rank {}: {}", rank, std::strerror(errno)));
    if (child == 0) become_rank(rank, ranks, port, arguments, self);
    running.emplace(child, rank);
  }
  int result = 0;
  Clock::time_point failed_at{};
  int sent = 0;
  while (!running.empty()) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, result == 0 ? 0 : WNOHANG);
    if (const auto found = running.find(ended); found != running.end()) {
      const int code = exit_code_of(found->second, status);
      running.erase(found);
      if (code != 0 && result == 0) {
        result = code;
        failed_at = Clock::now();
      }
      continue;
    }
    // The others hear of it from the store within a moment; whoever does not is stopped.
    constexpr auto kGrace = std::chrono::seconds(3);
    if (result != 0 && Clock::now() > failed_at + kGrace * (sent + 1)) {
      for (const auto& [child, rank] : running) ::kill(child, sent == 0 ? SIGTERM : SIGKILL);
      ++sent;
    }
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return result;
}
}  // namespace stepcast::runtime
