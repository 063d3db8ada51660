#include "tests/fidelity/sync/worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "runtime/backend/backend.hpp"
#include "runtime/launch/tcp_store.hpp"
#include "runtime/step/trainer.hpp"
#include "runtime/sync/server_client.hpp"
#include "sim/core/random.hpp"
#include "sim/core/result.hpp"
#include "sim/core/robust_stats.hpp"

namespace stepcast::real_sync {
namespace {
using namespace runtime;
constexpr Seconds kLimit{60};
constexpr int kWarmUp = 3, kRepeats = 25;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
TrainingPlan plan() {
  TrainingPlan plan;
  plan.model.kind = ModelKind::transformer;
  TransformerSpec& m = plan.model.transformer;
  m.layers = 2, m.hidden = 128, m.heads = m.kv_heads = 4, m.head_dim = 32, m.ffn = 512;
  m.vocab = 512, m.max_positions = 64;
  plan.training.global_batch = plan.training.micro_batch = 1;
  plan.training.sequence_length = 64;
  plan.training.precision = Precision::fp32;
  plan.training.master_weights = false;
  return plan;
}

/// The model of one worker, whose parameters come from elsewhere.
class Replica {
 public:
  Replica()
      : store_(new_local_store(kLimit)),
        backend_(backend_of("cpu")),
        device_(backend_->open(0)),
        trainer_(*backend_, *device_, *store_, 0, plan()) {}
  std::span<float> weights() { return span(parameters().weights()); }
  std::span<float> gradients() { return span(parameters().gradients()); }
  void compute_gradients(int step) {
    std::fill(gradients().begin(), gradients().end(), 0.0f);
    trainer_.load_batches(step);
    const LayerContext context{trainer_.device, *trainer_.compute, nullptr, 0};
    trainer_.model->forward(context, trainer_.micro_batch(0), {});
    trainer_.model->backward(context, trainer_.micro_batch(0), {}, 1.0f, nullptr);
    trainer_.compute->synchronise();
  }

 private:
  Parameters& parameters() { return trainer_.model->parameters(); }
  std::span<float> span(View view) {
    return {view.as<float>(), static_cast<std::size_t>(parameters().elements())};
  }
  std::unique_ptr<Store> store_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Device> device_;
  Trainer trainer_;
};

void step(const RealJob& job, int worker, Replica& replica, int number) {
  replica.compute_gradients(number);
  std::this_thread::sleep_for(std::chrono::duration<double>(sleep_of(job, worker, number)));
}

/// Mean seconds of a step beyond its sleep, nothing sent.
double step_alone(const RealJob& job, int worker, Replica& replica) {
  double beyond = 0;
  for (int s = -kWarmUp; s < kRepeats; ++s) {
    const double from = now_s();
    step(job, worker, replica, s + kWarmUp);
    if (s >= 0) beyond += now_s() - from - sleep_of(job, worker, s + kWarmUp);
  }
  return beyond / kRepeats;
}

/// A message of `bytes` there and one of `back` back, as the training sends them.
double exchange_s(const Socket& server, std::size_t bytes, std::size_t back) {
  std::vector<double> seconds;
  std::vector<char> from(bytes, 1), to(back);
  for (int i = -kWarmUp; i < kRepeats; ++i) {
    const double start = now_s();
    std::string message = std::to_string(back) + ' ';
    message.append(from.data(), from.size());
    server.send(message);
    const auto answer = server.receive(kLimit);
    if (!answer) throw EnvironmentError("the server left during the test of the link");
    std::copy(answer->begin(), answer->end(), to.begin());
    if (i >= 0) seconds.push_back(now_s() - start);
  }
  return median(seconds);
}
}  // namespace

double sleep_of(const RealJob& job, int worker, int step) {
  const std::uint64_t key = mixed_bits(mixed_bits(2026, static_cast<std::uint64_t>(worker)),
                                       static_cast<std::uint64_t>(step));
  return job.sleep_s * job.slowdown_of(worker) *
         std::exp(job.sigma * normal_from_bits(key) - 0.5 * job.sigma * job.sigma);
}

std::vector<float> initial_parameters() {
  Replica replica;
  return {replica.weights().begin(), replica.weights().end()};
}

void answer_link_test(const Socket& worker) {
  for (;;) {
    const auto asked = worker.receive(kLimit);
    if (!asked) throw EnvironmentError("a worker left during the test of the link");
    if (*asked == "end") return;
    worker.send(std::string(std::stoul(*asked), '\1'));
  }
}

void work(const RealJob& job, int worker, const Socket& server) {
  Replica replica;
  server.send(std::to_string(worker));
  for (;;) {
    const auto order = server.receive(kLimit);
    if (!order) throw EnvironmentError("the server left");
    if (*order == "train") break;
    if (*order == "alone") {
      server.send(fmt::format("{:.9g}", step_alone(job, worker, replica)));
    } else {
      const std::size_t bytes = replica.weights().size_bytes();
      const double push = exchange_s(server, bytes, 1), pull = exchange_s(server, 1, bytes),
                   empty = exchange_s(server, 1, 1);
      server.send("end");
      server.send(fmt::format("{:.9g} {:.9g} {:.9g}", push, pull, empty));
    }
  }
  ServerClient client(server, worker, kLimit);
  bool goes_on = client.pull(replica.weights());
  for (int number = 0; goes_on; ++number) {
    step(job, worker, replica, kWarmUp + kRepeats + number);
    goes_on = client.push_pull(number, replica.gradients(), replica.weights());
  }
}
}  // namespace stepcast::real_sync
