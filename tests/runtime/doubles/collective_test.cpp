#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "runtime/compress/compressor.hpp"
#include "tests/runtime/doubles/plugin.hpp"

using namespace stepcast;
using namespace stepcast::runtime;

namespace {
/// Runs `body(rank, device, communicator)` on `size` threads, each a rank with its own fake device;
/// what went wrong on each, "" where nothing did.
template <class Body>
std::vector<std::string> problems_of_ranks(Backend& backend, const std::string& group, int size,
                                           Seconds time_limit, const Body& body) {
  ThreadStore store;
  std::vector<std::thread> threads;
  std::vector<std::string> problems(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        const auto device = backend.open(rank);
        const auto communicator = backend.new_communicator(
            *device, store, {.name = group, .rank = rank, .size = size, .time_limit = time_limit});
        body(rank, *device, *communicator);
        communicator->barrier();
      } catch (const std::exception& error) {
        problems[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return problems;
}
template <class Body>
void on_ranks(Backend& backend, const std::string& group, int size, const Body& body) {
  for (const std::string& problem : problems_of_ranks(backend, group, size, Seconds(20), body))
    REQUIRE(problem == "");
}
/// One of each collective between two ranks.
void collect_everything(int rank, Device& device, Communicator& c) {
  const auto stream = device.new_stream("comm");
  Buffer x = put(device, *stream, {1, 2, 3, 4}), y(device, 4, Precision::fp32);
  c.all_reduce(*stream, x.view(), {4}, Reduction::sum);
  c.all_gather(*stream, x.view(), y.view(), {2});
  c.reduce_scatter(*stream, y.view(), x.view(), {2});
  c.all_to_all(*stream, y.view(), x.view(), {2});
  c.broadcast(*stream, x.view(), {4}, 1);
  if (rank == 0) c.send(*stream, x.view(), {2}, 1);
  if (rank == 1) c.receive(*stream, x.view(), {2}, 0);
  stream->synchronise();
}
}  // namespace

TEST_CASE("all collectives move the right parts in and out of place", "[doubles]") {
  setenv("STEPCAST_DOUBLE_DEVICES", "3", 1);
  const auto backend = plugin();
  std::mutex mutex;
  std::map<std::string, std::vector<std::vector<float>>> results;
  const auto keep = [&](const char* what, int rank, std::vector<float> values) {
    const std::lock_guard lock(mutex);
    results[what].resize(3);
    results[what][static_cast<std::size_t>(rank)] = std::move(values);
  };
  on_ranks(*backend, "world", 3, [&](int rank, Device& device, Communicator& c) {
    const auto stream = device.new_stream("comm", StreamPriority::high);
    const auto f = static_cast<float>(rank);
    Buffer sum = put(device, *stream, {f, 10 * f}), most = put(device, *stream, {f, -f}),
           own = put(device, *stream, {f, f + 10}), all(device, 6, Precision::fp32);
    Buffer parts = put(device, *stream, {f, f + 1, f + 2, f + 3, f + 4, f + 5}),
           part(device, 2, Precision::fp32), exchanged(device, 6, Precision::fp32);
    Buffer word = put(device, *stream, {f, f}), in_place = put(device, *stream, {f, f, f, f, f, f});
    c.all_reduce(*stream, sum.view(), {2}, Reduction::sum);
    c.all_reduce(*stream, most.view(), {2}, Reduction::max);
    c.all_gather(*stream, own.view(), all.view(), {2});
    c.all_gather(*stream, in_place.view(2 * rank), in_place.view(), {2});
    c.all_to_all(*stream, parts.view(), exchanged.view(), {2});
    c.reduce_scatter(*stream, parts.view(), part.view(), {2});
    c.broadcast(*stream, word.view(), {2}, 2);
    if (rank == 0) c.send(*stream, own.view(), {2}, 1);
    if (rank == 1) c.receive(*stream, own.view(), {2}, 0);
    keep("sum", rank, get(device, *stream, sum));
    keep("max", rank, get(device, *stream, most));
    keep("gather", rank, get(device, *stream, all));
    keep("in place", rank, get(device, *stream, in_place));
    keep("exchange", rank, get(device, *stream, exchanged));
    keep("scatter", rank, get(device, *stream, part));
    keep("broadcast", rank, get(device, *stream, word));
    keep("received", rank, get(device, *stream, own));
  });
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const auto f = static_cast<float>(rank);
    REQUIRE(results["sum"][rank] == std::vector<float>{3, 30});
    REQUIRE(results["max"][rank] == std::vector<float>{2, 0});
    REQUIRE(results["gather"][rank] == std::vector<float>{0, 10, 1, 11, 2, 12});
    REQUIRE(results["in place"][rank] == std::vector<float>{0, 0, 1, 1, 2, 2});
    // Part r of rank s is (s + 2r, s + 2r + 1).
    REQUIRE(results["exchange"][rank] ==
            std::vector<float>{2 * f, 2 * f + 1, 2 * f + 1, 2 * f + 2, 2 * f + 2, 2 * f + 3});
    REQUIRE(results["scatter"][rank] == std::vector<float>{6 * f + 3, 6 * f + 6});
    REQUIRE(results["broadcast"][rank] == std::vector<float>{2, 2});
  }
  REQUIRE(results["received"][1] == std::vector<float>{0, 10});
  unsetenv("STEPCAST_DOUBLE_DEVICES");
}

TEST_CASE(
    "a bucket reduced on a side stream under jitter equals the sum and compute does not wait for "
    "it",
    "[doubles]") {
  const auto backend = plugin();
  jitter(200, 3);
  std::mutex mutex;
  std::vector<std::vector<float>> results;
  on_ranks(*backend, "dp", 2, [&](int rank, Device& device, Communicator& c) {
    const auto compute = device.new_stream("compute"),
               comm = device.new_stream("comm", StreamPriority::high);
    std::vector<std::unique_ptr<Event>> ready;
    std::vector<Buffer> buckets;
    // "Backward" of four layers: each doubles a bucket that the host filled with rank + 1, and
    // hands it over.
    for (int layer = 0; layer < 4; ++layer) {
      buckets.push_back(
          put(device, *compute, std::vector<float>(500, static_cast<float>(rank + 1))));
      ready.push_back(device.new_event());
      device.kernels().scale(*compute, buckets.back().view(), 2.0f, 500);
      make_wait(*comm, *compute, *ready.back());
      c.all_reduce(*comm, buckets.back().view(), {500}, Reduction::sum);
    }
    const auto done = device.new_event();
    make_wait(*compute, *comm, *done);
    for (const Buffer& bucket : buckets) {
      device.kernels().scale(*compute, bucket.view(), 0.5f, 500);
      const auto values = get(device, *compute, bucket);
      const std::lock_guard lock(mutex);
      results.push_back(values);
    }
  });
  jitter(0, 1);
  REQUIRE(results.size() == 8);
  for (const auto& result : results)
    REQUIRE(result == std::vector<float>(500, 3.0f));  // (2 + 4) / 2
}

TEST_CASE("compressors on the plugin's devices agree on the same reduced gradient", "[doubles]") {
  const auto backend = plugin();
  for (const std::string& scheme : compressor_names()) {
    std::vector<std::vector<float>> results(2);
    on_ranks(*backend, "compress " + scheme, 2, [&](int rank, Device& device, Communicator& c) {
      const auto stream = device.new_stream("comm");
      const auto compressor = new_compressor({.scheme = scheme, .ratio = 0.1}, device, 1000, 2);
      for (int step = 0; step < 2; ++step) {
        Buffer gradient =
            put(device, *stream, numbers(1000, static_cast<std::uint64_t>(10 * rank + step)));
        reduce_compressed(*compressor, *stream, gradient.view(), c);
        results[static_cast<std::size_t>(rank)] = get(device, *stream, gradient);
      }
    });
    INFO(scheme);
    REQUIRE(results[0] == results[1]);
    double size = 0;
    for (const float value : results[0])
      size += static_cast<double>(value) * static_cast<double>(value);
    REQUIRE(size > 1);
  }
}

TEST_CASE("a failure of any NCCL call ends both ranks with its name and the next group works",
          "[doubles]") {
  const auto backend = plugin();
  for (const char* function : {"ncclGetUniqueId", "ncclCommInitRankConfig", "ncclCommGetAsyncError",
                               "ncclAllReduce", "ncclAllGather", "ncclReduceScatter",
                               "ncclBroadcast", "ncclSend", "ncclRecv", "ncclGroupEnd"}) {
    fail_at(function, 1);
    const auto problems = problems_of_ranks(*backend, "doomed", 2, Seconds(1), collect_everything);
    fail_at("", 0);
    INFO(function << ": \"" << problems[0] << "\" and \"" << problems[1] << "\"");
    // One rank met the failure; the other learns that its peer is gone, in time.
    REQUIRE((problems[0] + problems[1]).find(function) != std::string::npos);
    REQUIRE((problems[0] + problems[1]).find("of group doomed") != std::string::npos);
    REQUIRE(problems[0] != "");
    REQUIRE(problems[1] != "");
    on_ranks(*backend, "healthy", 2, collect_everything);
  }
}

TEST_CASE("a peer that never comes is an error with the group's name after the time limit",
          "[doubles]") {
  const auto backend = plugin();
  const auto device = backend->open(0);
  ThreadStore store;
  REQUIRE_THROWS_WITH(
      backend->new_communicator(
          *device, store, {.name = "lonely", .rank = 0, .size = 2, .time_limit = Seconds(0.3)}),
      Catch::Contains("rank 0 of group lonely") &&
          Catch::Contains("not all of the 2 ranks answered"));
}

TEST_CASE("a peer that dies in the middle surfaces from synchronise and nothing hangs",
          "[doubles]") {
  const auto backend = plugin();
  ThreadStore store;
  std::string text;
  std::thread peer([&] {
    const auto device = backend->open(1);
    const auto c = backend->new_communicator(
        *device, store, {.name = "mortal", .rank = 1, .size = 2, .time_limit = Seconds(0.5)});
  });
  {
    const auto device = backend->open(0);
    const auto stream = device->new_stream("comm");
    const auto c = backend->new_communicator(
        *device, store, {.name = "mortal", .rank = 0, .size = 2, .time_limit = Seconds(0.5)});
    peer.join();  // it left
    Buffer x = put(*device, *stream, {1, 2});
    c->all_reduce(*stream, x.view(), {2}, Reduction::sum);
    try {
      stream->synchronise();
    } catch (const EnvironmentError& error) {
      text = error.what();
    }
  }
  REQUIRE(text.find("rank 0 of group mortal") != std::string::npos);
  REQUIRE(text.find("has died or hangs") != std::string::npos);
}

TEST_CASE("many short waits longer than the limit together are no dead peer", "[doubles]") {
  const auto backend = plugin();
  jitter(20000, 1);  // each wait takes milliseconds, so that the watches are looked at
  const auto problems =
      problems_of_ranks(*backend, "patient", 2, Seconds(1), [](int, Device& device, Communicator&) {
        const auto stream = device.new_stream("compute");
        const Buffer x = put(device, *stream, {1, 2});
        const auto begin = Recorder::now();
        while (Recorder::now() - begin < 1'500'000'000) {  // 1.5 of the limit of 1 s
          device.kernels().scale(*stream, x.view(), 1.0f, 2);
          stream->synchronise();
        }
      });
  jitter(0, 1);
  REQUIRE(problems == std::vector<std::string>{"", ""});
}

TEST_CASE("processes reduce through the same plugin", "[doubles]") {
  // A child process is rank 1; the store is a file, renamed when complete.
  struct FileStore final : Store {
    explicit FileStore(std::string stem) : stem_(std::move(stem)) {}
    std::string path(std::string key) const {
      for (char& c : key)
        if (c == '/') c = '_';
      return stem_ + key;
    }
    void set(const std::string& key, const std::string& value) override {
      std::ofstream(path(key) + ".new") << value;
      std::rename((path(key) + ".new").c_str(), path(key).c_str());
    }
    std::string get(const std::string& key) override {
      for (int i = 0; i < 10000; ++i) {
        std::ifstream file(path(key));
        std::string value;
        if (file >> value) return value;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      throw EnvironmentError("no key " + key);
    }
    std::string stem_;
  };
  const std::string stem = "/tmp/stepcast_doubles_" + std::to_string(getpid()) + "_";
  const auto run_rank = [&](int rank) -> float {
    const auto backend = plugin();
    FileStore store(stem);
    const auto device = backend->open(rank);
    const auto stream = device->new_stream("comm");
    const auto c = backend->new_communicator(
        *device, store, {.name = "processes", .rank = rank, .size = 2, .time_limit = Seconds(20)});
    Buffer x = put(*device, *stream,
                   std::vector<float>(20000, static_cast<float>(rank + 1)));  // larger than a chunk
    c->all_reduce(*stream, x.view(), {20000}, Reduction::sum);
    const auto values = get(*device, *stream, x);
    c->barrier();
    return values.front() == values.back() ? values[7] : -1.0f;
  };
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    float value = 0;
    try {
      value = run_rank(1);
    } catch (...) {
    }
    _exit(value == 3.0f ? 0 : 1);
  }
  const float value = run_rank(0);
  int status = 0;
  waitpid(child, &status, 0);
  std::remove((stem + "nccl_processes").c_str());
  REQUIRE(value == 3.0f);
  REQUIRE(WEXITSTATUS(status) == 0);
}
