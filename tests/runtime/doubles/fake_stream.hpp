#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

/// Streams, events and graphs of the double of cudart: a stream is a thread with a queue, an event
/// a pair of counters.
namespace stepcast::doubles {
struct Work {
  std::function<void()> run;
  int kind = -1;  // as in StepcastDoubleHook; -1: nothing that a tracer would see
  std::uint32_t correlation = 0;
  std::string name;
  std::uint64_t graph_node = 0;
};
struct FakeGraph {
  std::vector<Work> work;
};

class FakeEvent {
 public:
  explicit FakeEvent(bool is_timed) : has_timing(is_timed) {}
  std::uint64_t recorded();            // host side: a new record, returns its number
  void reached(std::uint64_t number);  // stream side
  void await(std::uint64_t number);
  bool is_reached();
  std::uint64_t last();
  std::int64_t at();  // ns
  const bool has_timing;
  std::shared_ptr<FakeGraph> graph;  // the capture in which it was recorded last

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t recorded_ = 0, reached_ = 0;
  std::int64_t at_ = 0;
};

class FakeStream {
 public:
  FakeStream(int device, std::uint32_t id);
  ~FakeStream();
  FakeStream(const FakeStream&) = delete;
  FakeStream& operator=(const FakeStream&) = delete;
  void push(Work work);  // into the capture where one is open
  void synchronise();
  bool is_idle();
  const int device;
  const std::uint32_t id;
  std::shared_ptr<FakeGraph> capture;

 private:
  void loop();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  bool is_busy_ = false, is_closing_ = false;
  std::thread thread_;
};
/// The first failure on a device's side; sticky, as on a real one.
void set_sticky(int error, const std::string& text);
int sticky_error();
std::int64_t now_ns();
}  // namespace stepcast::doubles
