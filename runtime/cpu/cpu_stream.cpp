#include "runtime/cpu/cpu_stream.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/cpu/sgemm.hpp"
#include "runtime/cpu/thread_level.hpp"
#include "sim/core/assert.hpp"

namespace stepcast::runtime {

void Moment::reach(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  is_reached_ = true;
  at_ = Recorder::now();
  failure_ = std::move(failure);
  changed_.notify_all();
}
void Moment::wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_reached_; });
  if (failure_) std::rethrow_exception(failure_);
}
bool Moment::is_reached() const {
  const std::lock_guard lock(mutex_);
  return is_reached_;
}
Nanoseconds Moment::at() const {
  const std::lock_guard lock(mutex_);
  return at_;
}

void CpuEvent::wait() const {
  if (moment_) moment_->wait();
}
Seconds CpuEvent::reached_at() const {
  STEPCAST_ASSERT(is_reached(), "callers wait for an event before they read its time");
  return seconds_from_ns(moment_->at());
}

namespace {
constexpr int kRealtimeBase = 1;
bool is_realtime(int policy) { return policy == SCHED_RR || policy == SCHED_FIFO; }
void set_realtime(int policy, int priority) noexcept {
  const sched_param parameter{.sched_priority = priority};
  sched_setscheduler(0, policy, &parameter);
}
}  // namespace

void set_thread_level(ThreadLevel level) noexcept {
  const int policy = sched_getscheduler(0);
  if (is_realtime(policy)) return set_realtime(policy, kRealtimeBase + static_cast<int>(level));
  if (level == ThreadLevel::compute) return;
  constexpr int kNice =
      -5;  // ten levels are a factor 10 in Linux's fair scheduler; half of that wins every wake-up
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNice);
}
void raise_this_thread() noexcept { set_thread_level(ThreadLevel::network_caller); }

NetworkCall::NetworkCall() noexcept : policy_(sched_getscheduler(0)), priority_(0) {
  if (!is_realtime(policy_)) return;
  sched_param parameter{};
  sched_getparam(0, &parameter);
  priority_ = parameter.sched_priority;
  set_realtime(policy_, kRealtimeBase + static_cast<int>(ThreadLevel::network_caller));
}
NetworkCall::~NetworkCall() {
  if (is_realtime(policy_)) set_realtime(policy_, priority_);
}

CpuStream::CpuStream(Device& device, std::string name, StreamPriority priority,
                     std::function<void(CpuStream*)> on_close)
    : device_(device),
      name_(std::move(name)),
      index_(device.recorder().add_stream(name_)),
      on_close_(std::move(on_close)),
      thread_([this, priority] { run(priority); }) {}

CpuStream::~CpuStream() {
  on_close_(this);
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
    has_work_.notify_all();
  }
  thread_.join();
}

void CpuStream::push(Item item) {
  const std::lock_guard lock(mutex_);
  items_.push_back(std::move(item));
  has_work_.notify_one();
}
void CpuStream::enqueue(std::function<void()> work) {
  Recorder& recorder = device_.recorder();
  push({.work = std::move(work), .label = recorder.current(), .is_recorded = recorder.is_on()});
}
void CpuStream::record(Event& event) {
  auto& mine = static_cast<CpuEvent&>(event);
  mine.renew();
  push({.reach = mine.moment()});
}
void CpuStream::wait_for(const Event& event) {
  const auto& mine = static_cast<const CpuEvent&>(event);
  if (mine.moment()) push({.await = mine.moment()});
}
void CpuStream::synchronise() {
  std::unique_lock lock(mutex_);
  is_idle_.wait(lock, [this] { return items_.empty() && !is_busy_; });
  if (failure_) std::rethrow_exception(failure_);
}

void CpuStream::execute(Item& item) {
  if (item.reach) {
    item.reach->reach(failure_);
    return;
  }
  if (failure_) return;
  try {
    if (item.await) {
      item.await->wait();
      return;
    }
    const Nanoseconds start = item.is_recorded ? Recorder::now() : 0;
    item.work();
    if (item.is_recorded) device_.recorder().add({item.label, index_, start, Recorder::now()});
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
  }
}

void CpuStream::run(StreamPriority priority) {
  if (priority == StreamPriority::high)
    raise_this_thread();
  else
    set_thread_level(ThreadLevel::compute);
  compute_on_this_core_only();
  std::unique_lock lock(mutex_);
  for (;;) {
    has_work_.wait(lock, [this] { return !items_.empty() || is_closing_; });
    if (items_.empty()) return;
    Item item = std::move(items_.front());
    items_.pop_front();
    is_busy_ = true;
    lock.unlock();
    execute(item);
    item = {};  // what the work captured is released before anyone sees the stream idle
    lock.lock();
    is_busy_ = false;
    if (items_.empty()) is_idle_.notify_all();
  }
}
}  // namespace stepcast::runtime
