#include "runtime/launch/tcp_store.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "sim/core/assert.hpp"
#include "tests/support/test.hpp"

namespace stepcast::runtime::test {
namespace {
RankPlace place(int rank, int size, int port) {
  RankPlace p;
  p.rank = rank, p.size = size, p.port = port;
  return p;
}
/// Runs `body` in a child process; its exit code, or 128 + signal.
template <class Body>
pid_t in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    if (freopen("/dev/null", "w", stderr) == nullptr) _exit(98);
    try {
      body();
    } catch (const EnvironmentError&) {
      _exit(3);  // as main answers: a lost store may be noticed by the caller before the watching
                 // thread ends the process
    }
    _exit(0);
  }
  return child;
}
int exit_code(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
}  // namespace

TEST_CASE("a value set by one rank reaches another that asked before it was there",
          "[runtime][store]") {
  const int port = free_port();
  std::thread other([port] {
    TcpStore store(place(1, 2, port), Seconds(10));
    store.set("from one", std::string("a\0b", 3));
    REQUIRE(store.get("from zero") == "hello");
  });
  {
    TcpStore store(place(0, 2, port), Seconds(10));
    REQUIRE(store.get("from one") == std::string("a\0b", 3));
    store.set("from zero", "hello");
    other.join();
  }
}
TEST_CASE("a key that nobody sets is an error with the key's name after the time limit",
          "[runtime][store]") {
  TcpStore store(place(0, 1, free_port()), Seconds(0.2));
  REQUIRE_THROWS_WITH(store.get("gloo/dp0/0"), Catch::Contains("nobody set \"gloo/dp0/0\""));
}
TEST_CASE("a port in use and a silent rank 0 are said with address and port", "[runtime][store]") {
  const int port = free_port();
  TcpStore store(place(0, 1, port), Seconds(1));
  REQUIRE_THROWS_WITH(TcpStore(place(0, 1, port), Seconds(1)),
                      Catch::Contains("port " + std::to_string(port) + " cannot be served"));
  const int nobody = free_port();
  REQUIRE_THROWS_WITH(TcpStore(place(1, 2, nobody), Seconds(0.2)),
                      Catch::Contains("does not answer at 127.0.0.1:" + std::to_string(nobody)));
}
TEST_CASE("one rank that is killed ends the others with exit code 3", "[runtime][store]") {
  const int port = free_port();
  const pid_t zero = in_child([port] {
    TcpStore store(place(0, 3, port), Seconds(20));
    store.get("never");
  });
  const pid_t one = in_child([port] {
    TcpStore store(place(1, 3, port), Seconds(20));
    store.set("one is here", "");
    store.get("never");
  });
  const pid_t two = in_child([port] {
    TcpStore store(place(2, 3, port), Seconds(20));
    store.get("one is here");
    raise(SIGKILL);
  });
  REQUIRE(exit_code(two) == 128 + SIGKILL);
  REQUIRE(exit_code(zero) == 3);
  REQUIRE(exit_code(one) == 3);
}
}  // namespace stepcast::runtime::test
