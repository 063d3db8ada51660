#include "runtime/capture/recorder.hpp"

#include <ctime>

#include "sim/core/assert.hpp"

namespace stepcast::runtime {

Nanoseconds Recorder::now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<Nanoseconds>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

void Recorder::start() {
  labels_.clear();
  {
    const std::lock_guard lock(mutex_);
    activities_.clear();
  }
  on_start();
  is_on_ = true;  // not when the backend cannot trace
}
void Recorder::stop() {
  is_on_ = false;  // also when the backend's trace turns out to be spoilt
  current_ = -1;
  on_stop();
}

std::uint32_t Recorder::add_stream(const std::string& name) {
  streams_.push_back(name);
  return static_cast<std::uint32_t>(streams_.size() - 1);
}

std::int32_t Recorder::open(std::string_view name, Category category, std::int32_t micro_batch) {
  if (!is_on_) return -1;
  STEPCAST_ASSERT(current_ < 0,
                  "op scopes are opened and closed one after another by the step's code");
  labels_.push_back({name, category, micro_batch, now(), 0});
  const auto label = static_cast<std::int32_t>(labels_.size() - 1);
  on_open(label);
  return current_ = label;
}
void Recorder::close(std::int32_t label) {
  if (label < 0 || label >= static_cast<std::int32_t>(labels_.size())) return;
  on_close(label);
  labels_[static_cast<std::size_t>(label)].issued_to = now();
  current_ = -1;
}

void Recorder::add(const Activity& activity) {
  const std::lock_guard lock(mutex_);
  activities_.push_back(activity);
}
std::vector<Activity> Recorder::activities() const {
  const std::lock_guard lock(mutex_);
  return activities_;
}
}  // namespace stepcast::runtime
