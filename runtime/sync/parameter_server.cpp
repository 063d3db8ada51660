#include "runtime/sync/parameter_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "runtime/sync/server_message.hpp"
#include "sim/core/assert.hpp"

namespace stepcast::runtime {
namespace {
double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
}  // namespace

void add_scaled(std::vector<float>& parameters, const float* gradient, float scale) {
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] += scale * gradient[i];
}

ParameterServer::ParameterServer(std::vector<float> parameters, const ServerRule& rule)
    : parameters_(std::move(parameters)), rule_(rule), began_s_(now_s()) {
  using enum SyncMode;
  STEPCAST_ASSERT(rule.workers >= 1, "a server needs one worker or more");
  STEPCAST_ASSERT(rule.mode == bsp || rule.mode == ssp || rule.mode == async,
                  "a mode with a parameter server");
  STEPCAST_ASSERT(message_bytes(parameters_.size()) <= Socket::kLongestMessage,
                  "a model that fits one message");
  steps_of_.assign(static_cast<std::size_t>(rule.workers), 0);
  if (rule.mode == bsp) sum_.assign(parameters_.size(), 0.0f);
}

void ParameterServer::serve(const Socket& socket) {
  answer_until_over(socket);
  const std::lock_guard lock(mutex_);
  if (!failure_.empty()) socket.shut_down();  // its worker learns at once
}

void ParameterServer::answer_until_over(const Socket& socket) {
  for (;;) {
    const auto message = socket.receive(Seconds(0));
    if (!message) {
      const std::lock_guard lock(mutex_);
      if (!is_over()) fail("a worker left before the run was over");
      return;
    }
    std::unique_lock lock(mutex_);
    if (message->size() < sizeof(ServerMessage)) {
      fail(fmt::format("a worker sent {} bytes, which is no message", message->size()));
      return;
    }
    const ServerMessage asked = header_of(*message);
    const bool reads_only = asked.step < 0;
    if (asked.worker < 0 || asked.worker >= rule_.workers) {
      fail(fmt::format("worker {} is none of the {}", asked.worker, rule_.workers));
      return;
    }
    if (!reads_only && message->size() != message_bytes(parameters_.size())) {
      fail(fmt::format("worker {} sent {} bytes where {} parameters are trained", asked.worker,
                       message->size(), parameters_.size()));
      return;
    }
    if (!reads_only && !is_over()) {
      std::vector<float> gradient(parameters_.size());
      std::memcpy(gradient.data(), message->data() + sizeof(ServerMessage),
                  gradient.size() * sizeof(float));
      take_in({asked.worker, asked.step, asked.version, now_s() - began_s_}, gradient.data());
      changed_.notify_all();
      changed_.wait(lock, [&] { return is_over() || may_go_on(asked.worker, asked.step); });
    }
    if (!failure_.empty()) return;
    const ServerMessage answer{asked.worker, is_over() ? 1 : 0,
                               static_cast<std::int64_t>(updates_.size())};
    const std::string packed = pack(answer, parameters_);
    lock.unlock();
    if (!socket.send(packed)) {
      lock.lock();
      if (!is_over()) fail(fmt::format("worker {} left before the run was over", asked.worker));
      return;
    }
    if (answer.step == 1) return;
  }
}

// bsp: the mean of a step's gradients enters with the last of them. ssp and async: each enters by
// itself, scaled alike, so that as many gradients move the parameters as far.
void ParameterServer::take_in(const ServedUpdate& update, const float* gradient) {
  const float rate = rule_.learning_rate / static_cast<float>(rule_.workers);
  updates_.push_back(update);
  ++steps_of_[static_cast<std::size_t>(update.worker)];
  if (rule_.mode != SyncMode::bsp) return add_scaled(parameters_, gradient, -rate);
  add_scaled(sum_, gradient, 1.0f);
  if (updates_.size() % static_cast<std::size_t>(rule_.workers) != 0) return;
  add_scaled(parameters_, sum_.data(), -rate);
  std::fill(sum_.begin(), sum_.end(), 0.0f);
}

bool ParameterServer::may_go_on(int worker, int step) const {
  const int slowest = *std::min_element(steps_of_.begin(), steps_of_.end());
  switch (rule_.mode) {
    case SyncMode::bsp:
      return slowest > step;
    case SyncMode::ssp:
      return steps_of_[static_cast<std::size_t>(worker)] - slowest <= rule_.staleness;
    default:
      return true;
  }
}

void ParameterServer::fail(const std::string& text) {
  if (failure_.empty()) failure_ = text;
  changed_.notify_all();
}
}  // namespace stepcast::runtime
