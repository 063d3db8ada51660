#pragma once
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "runtime/device/device.hpp"

namespace stepcast::runtime {

/// A moment, shared by the event that names it, the stream that will reach it and the streams that
/// wait for it.
class Moment {
 public:
  void reach(std::exception_ptr failure);
  void wait() const;  // rethrows the failure
  bool is_reached() const;
  Nanoseconds at() const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool is_reached_ = false;
  Nanoseconds at_ = 0;
  std::exception_ptr failure_;
};

class CpuEvent final : public Event {
 public:
  bool is_reached() const override { return moment_ != nullptr && moment_->is_reached(); }
  void wait() const override;
  Seconds reached_at() const override;

  void renew() { moment_ = std::make_shared<Moment>(); }
  const std::shared_ptr<Moment>& moment() const { return moment_; }

 private:
  std::shared_ptr<Moment>
      moment_;  // none before the first record: waiting for it is no wait, as in CUDA
};

/// A worker thread with an ordered queue. After a failure later work is dropped, and whoever waits
/// gets the failure.
class CpuStream final : public Stream {
 public:
  CpuStream(Device& device, std::string name, StreamPriority priority,
            std::function<void(CpuStream*)> on_close);
  ~CpuStream() override;
  CpuStream(const CpuStream&) = delete;
  CpuStream& operator=(const CpuStream&) = delete;

  const std::string& name() const override { return name_; }
  Device& device() const override { return device_; }
  void record(Event& event) override;
  void wait_for(const Event& event) override;
  void synchronise() override;

  /// Appends work under the recorder's open label.
  void enqueue(std::function<void()> work);

 private:
  struct Item {
    std::function<void()> work;  // empty: a moment to reach or to wait for
    std::shared_ptr<Moment> reach, await;
    std::int32_t label = -1;
    bool is_recorded = false;
  };
  void push(Item item);
  void run(StreamPriority priority);
  void execute(Item& item);

  Device& device_;
  std::string name_;
  std::uint32_t index_;
  std::mutex mutex_;
  std::condition_variable has_work_, is_idle_;
  std::deque<Item> items_;
  bool is_busy_ = false, is_closing_ = false;
  std::exception_ptr failure_;
  std::function<void(CpuStream*)> on_close_;
  std::thread thread_;  // last: it uses the members above
};

inline CpuStream& cpu(Stream& stream) { return static_cast<CpuStream&>(stream); }

/// Raises the calling thread above the compute threads where the system lets us: one real-time
/// level up under SCHED_RR, else nice -5. Without it a comm thread of equal rank waits behind
/// compute and nothing overlaps. Threads started from here inherit it.
void raise_this_thread() noexcept;
}  // namespace stepcast::runtime
