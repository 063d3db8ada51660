#include "tests/runtime/doubles/fake_stream.hpp"

#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "runtime/kernels/emulation_lookup.hpp"
#include "sim/core/random.hpp"
#include "tests/runtime/doubles/control.hpp"

namespace stepcast::doubles {
namespace {
std::atomic<int> jitter_us{-1}, sticky{0};
std::atomic<std::uint64_t> jitter_seed{1};
std::atomic<const StepcastDoubleHook*> hook{nullptr};

void sleep_a_little() {
  int most = jitter_us;
  if (most < 0) {
    const char* text = std::getenv("STEPCAST_DOUBLE_JITTER_US");
    jitter_us = most = text == nullptr ? 0 : std::atoi(text);
  }
  if (most > 0)
    std::this_thread::sleep_for(
        std::chrono::microseconds(mixed_bits(jitter_seed++) % static_cast<std::uint64_t>(most)));
}
}  // namespace

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000ll + time.tv_nsec;
}
void set_sticky(int error, const std::string& text) {
  int none = 0;
  if (sticky.compare_exchange_strong(none, error))
    std::fprintf(stderr, "double of cudart: %s\n", text.c_str());
}
int sticky_error() { return sticky; }

std::uint64_t FakeEvent::recorded() {
  const std::lock_guard lock(mutex_);
  return ++recorded_;
}
void FakeEvent::reached(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (number > reached_) reached_ = number;
  at_ = now_ns();
  changed_.notify_all();
}
void FakeEvent::await(std::uint64_t number) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return reached_ >= number; });
}
bool FakeEvent::is_reached() {
  const std::lock_guard lock(mutex_);
  return reached_ == recorded_;
}
std::uint64_t FakeEvent::last() {
  const std::lock_guard lock(mutex_);
  return recorded_;
}
std::int64_t FakeEvent::at() {
  const std::lock_guard lock(mutex_);
  return at_;
}

FakeStream::FakeStream(int device_, std::uint32_t id_)
    : device(device_), id(id_), thread_([this] { loop(); }) {}
FakeStream::~FakeStream() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
    changed_.notify_all();
  }
  thread_.join();
}
void FakeStream::push(Work work) {
  if (capture != nullptr) {
    capture->work.push_back(std::move(work));
    return;
  }
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(work));
  changed_.notify_all();
}
void FakeStream::synchronise() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && !is_busy_; });
}
bool FakeStream::is_idle() {
  const std::lock_guard lock(mutex_);
  return queue_.empty() && !is_busy_;
}
void FakeStream::loop() {
  // Kernels run under the schedule that finds missing barriers.
  emulation::use_adversarial_schedule(id);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Work work = std::move(queue_.front());
    queue_.pop_front();
    is_busy_ = true;
    lock.unlock();
    sleep_a_little();
    const std::int64_t start = now_ns();
    try {
      if (sticky_error() == 0 || work.kind < 0) work.run();
    } catch (const std::exception& error) {
      set_sticky(cudaErrorLaunchFailure, error.what());
    }
    const StepcastDoubleHook* tracer = hook;
    if (tracer != nullptr && work.kind >= 0)
      tracer->executed(work.kind, work.correlation, id, start, now_ns(), work.name.c_str(),
                       work.graph_node);
    lock.lock();
    is_busy_ = false;
    changed_.notify_all();
  }
}
}  // namespace stepcast::doubles

using namespace stepcast::doubles;
extern "C" void stepcast_double_jitter(int microseconds, std::uint64_t seed) {
  jitter_us = microseconds;
  jitter_seed = seed;
}
extern "C" void stepcast_double_set_hook(const StepcastDoubleHook* tracer) { hook = tracer; }
namespace stepcast::doubles {
std::uint32_t hook_enqueued() {
  const StepcastDoubleHook* tracer = hook;
  return tracer == nullptr ? 0 : tracer->enqueued();
}
}  // namespace stepcast::doubles
