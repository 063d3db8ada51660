#include "runtime/sync/parameter_server.hpp"

#include <sys/socket.h>

#include <thread>

#include "runtime/sync/server_client.hpp"
#include "runtime/sync/server_message.hpp"
#include "sim/core/result.hpp"
#include "tests/support/test.hpp"

namespace stepcast::runtime::test {
namespace {
using Values = std::vector<float>;

/// A server of two parameters that start at 0, and its workers at the other ends of socket pairs.
class Served {
 public:
  explicit Served(const ServerRule& rule) : server({0, 0}, rule) {
    for (int w = 0; w < rule.workers; ++w) {
      int ends[2];
      REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
      sockets.emplace_back(ends[0]);
      ends_.emplace_back(ends[1]);
    }
    for (const Socket& end : ends_) threads_.emplace_back([&] { server.serve(end); });
  }
  ~Served() {
    for (const Socket& socket : sockets) socket.shut_down();
    join();
  }
  void join() {
    for (std::thread& thread : threads_)
      if (thread.joinable()) thread.join();
  }
  void push(std::size_t worker, int step, const Values& gradient) {
    REQUIRE(sockets[worker].send(pack({static_cast<std::int32_t>(worker), step, 0}, gradient)));
  }
  /// Whether an answer is there within 0.1 s. One that must not come never does.
  bool is_answered(std::size_t worker) {
    const auto answer = sockets[worker].receive(Seconds(0.1));
    if (answer) last = *answer;
    return answer.has_value();
  }
  ParameterServer server;
  std::vector<Socket> sockets;
  std::string last;

 private:
  std::vector<Socket> ends_;
  std::vector<std::thread> threads_;
};
}  // namespace

TEST_CASE("a bsp server moves by the mean gradient once all are in", "[sync]") {
  Served served({.mode = SyncMode::bsp, .workers = 2, .learning_rate = 0.5f, .updates = 4});
  served.push(0, 0, {2, 4});
  REQUIRE_FALSE(served.is_answered(0));
  served.push(1, 0, {6, 0});
  REQUIRE(served.is_answered(0));
  REQUIRE(served.is_answered(1));
  // -0.5 x (2 + 6) / 2 and -0.5 x (4 + 0) / 2
  REQUIRE(served.last == pack({1, 0, 2}, Values{-2, -1}));
}

TEST_CASE("an asynchronous server answers at once and knows what each gradient was computed from",
          "[sync]") {
  Served served({.mode = SyncMode::async, .workers = 2, .learning_rate = 1, .updates = 4});
  ServerClient fast(served.sockets[0], 0, Seconds(20)), slow(served.sockets[1], 1, Seconds(20));
  Values p(2), q(2);
  REQUIRE(fast.pull(p));
  REQUIRE(slow.pull(q));
  const Values one{1, 0};
  REQUIRE(fast.push_pull(0, one, p));
  REQUIRE(fast.push_pull(1, one, p));
  REQUIRE(p == Values{-1, 0});  // two gradients of 1 at rate 1 / 2
  REQUIRE(slow.push_pull(0, one, q));
  REQUIRE_FALSE(fast.push_pull(2, one, p));  // the fourth update ends the run
  REQUIRE(p == Values{-2, 0});
  served.sockets[1].shut_down();
  served.join();
  REQUIRE(served.server.failure().empty());
  const auto& updates = served.server.updates();
  REQUIRE(updates.size() == 4);
  REQUIRE(updates[1].read_version == 1);
  REQUIRE(updates[2].worker == 1);
  REQUIRE(updates[2].read_version == 0);  // two others came between: staleness 2
  REQUIRE(updates[3].read_version == 2);
}

TEST_CASE("a stale-synchronous server holds whoever is beyond the bound until the slowest comes",
          "[sync]") {
  Served served(
      {.mode = SyncMode::ssp, .staleness = 1, .workers = 2, .learning_rate = 1, .updates = 9});
  served.push(0, 0, {1, 1});
  REQUIRE(served.is_answered(0));  // one step ahead
  served.push(0, 1, {1, 1});
  REQUIRE_FALSE(served.is_answered(0));  // would be two
  served.push(1, 0, {1, 1});
  REQUIRE(served.is_answered(1));
  REQUIRE(served.is_answered(0));
  REQUIRE(served.last == pack({0, 0, 3}, Values{-1.5f, -1.5f}));
}

TEST_CASE("a worker that leaves or sends another model ends the run with a message for all",
          "[sync]") {
  SECTION("it leaves while another waits for it") {
    Served served({.mode = SyncMode::bsp, .workers = 2, .updates = 4});
    served.push(0, 0, {1, 1});
    served.sockets[1].shut_down();
    served.join();
    REQUIRE(served.server.failure() == "a worker left before the run was over");
  }
  SECTION("a gradient of another size") {
    Served served({.mode = SyncMode::async, .workers = 1, .updates = 4});
    served.push(0, 0, {1, 1, 1});
    served.join();
    REQUIRE_FALSE(served.sockets[0].receive(Seconds(0)));  // the connection is closed
    REQUIRE(served.server.failure() == "worker 0 sent 28 bytes where 2 parameters are trained");
  }
  SECTION("a worker that is none") {
    Served served({.mode = SyncMode::async, .workers = 1, .updates = 4});
    REQUIRE(served.sockets[0].send(pack({3, 0, 0}, Values{1, 1})));
    served.join();
    REQUIRE(served.server.failure() == "worker 3 is none of the 1");
  }
  SECTION("no message of ours") {
    Served served({.mode = SyncMode::async, .workers = 1, .updates = 4});
    REQUIRE(served.sockets[0].send("hello"));
    served.join();
    REQUIRE(served.server.failure() == "a worker sent 5 bytes, which is no message");
  }
  SECTION("a server that is gone") {
    Served served({.mode = SyncMode::async, .workers = 1, .updates = 4});
    served.sockets[0].shut_down();
    ServerClient client(served.sockets[0], 0, Seconds(20));
    Values p(2);
    REQUIRE_THROWS_AS(client.pull(p), EnvironmentError);
  }
}
}  // namespace stepcast::runtime::test
