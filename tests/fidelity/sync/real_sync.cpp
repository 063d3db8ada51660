// One row of TABLE.md: a parameter server and workers as processes, measured and simulated.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <thread>

#include "sim/core/result.hpp"
#include "sim/core/robust_stats.hpp"
#include "tests/fidelity/sync/forecast.hpp"
#include "tests/fidelity/sync/worker.hpp"

namespace stepcast::real_sync {
namespace {
using runtime::Socket;
constexpr Seconds kLimit{60};

std::string answer_of(const Socket& worker) {
  const auto answer = worker.receive(kLimit);
  if (!answer) throw EnvironmentError("a worker left or does not answer");
  return *answer;
}
std::vector<Socket> workers_at(const Socket& listening, int count) {
  std::vector<Socket> workers(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    auto socket = listening.accept();
    if (!socket) throw EnvironmentError("no worker can be accepted");
    const std::size_t index = std::stoul(answer_of(*socket));
    workers.at(index) = std::move(*socket);
  }
  return workers;
}

double seconds_of_a_sum(std::vector<float> parameters) {
  const std::vector<float> gradient(parameters.size(), 1e-6f);
  std::vector<double> seconds;
  for (int i = 0; i < 25; ++i) {
    const auto from = std::chrono::steady_clock::now();
    // A gradient is copied out of its message, then added.
    const std::vector<float> taken(gradient);
    runtime::add_scaled(parameters, taken.data(), 1e-3f);
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count());
  }
  return median(seconds);
}

Pieces pieces_of(const std::vector<Socket>& workers, const std::vector<float>& parameters) {
  Pieces pieces;
  pieces.parameters = static_cast<std::int64_t>(parameters.size());
  for (const Socket& worker : workers) worker.send("alone");
  for (const Socket& worker : workers) pieces.gradient_s.push_back(std::stod(answer_of(worker)));
  std::vector<double> push, pull, empty;
  for (const Socket& worker : workers) {
    worker.send("link");
    answer_link_test(worker);
    std::istringstream text(answer_of(worker));
    double a = 0, b = 0, c = 0;
    text >> a >> b >> c;
    push.push_back(a), pull.push_back(b), empty.push_back(c);
  }
  pieces.push_s = median(push), pieces.pull_s = median(pull), pieces.round_trip_s = median(empty);
  pieces.sum_s = seconds_of_a_sum(parameters);
  return pieces;
}

std::vector<runtime::ServedUpdate> train(const RealJob& job, const std::vector<Socket>& workers,
                                         std::vector<float> parameters) {
  runtime::ParameterServer server(std::move(parameters),
                                  {.mode = job.mode,
                                   .staleness = job.staleness,
                                   .workers = job.workers,
                                   .updates = std::int64_t{job.steps} * job.workers});
  std::vector<std::thread> threads;
  for (const Socket& worker : workers) worker.send("train");
  for (const Socket& worker : workers)
    threads.emplace_back([&server, &worker] { server.serve(worker); });
  for (std::thread& thread : threads) thread.join();
  if (!server.failure().empty()) throw EnvironmentError(server.failure());
  return server.updates();
}

/// What the real run did against the rules of its mode; "" = nothing. No clock is asked.
std::string broken_rule(const RealJob& job, const std::vector<runtime::ServedUpdate>& updates) {
  if (updates.size() != static_cast<std::size_t>(job.steps) * job.workers)
    return fmt::format("{} updates in place of {} x {}", updates.size(), job.steps, job.workers);
  std::vector<int> steps_of(static_cast<std::size_t>(job.workers), 0);
  for (const runtime::ServedUpdate& u : updates) {
    int& steps = steps_of[static_cast<std::size_t>(u.worker)];
    if (u.step != steps)
      return fmt::format("worker {} sent step {} where {} is due", u.worker, u.step, steps);
    const int ahead = steps - *std::min_element(steps_of.begin(), steps_of.end());
    const int most = job.mode == SyncMode::bsp ? 0 : job.staleness;
    if (job.mode != SyncMode::async && ahead > most)
      return fmt::format("worker {} began step {}, {} ahead of the slowest", u.worker, u.step,
                         ahead);
    ++steps;
  }
  return "";
}

/// Shares of updates by staleness, per cent: "12 / 60 / 28" for 0, 1, 2.
std::string shares(const std::map<std::int64_t, std::int64_t>& staleness, std::int64_t most) {
  double all = 0;
  for (const auto& [s, count] : staleness) all += static_cast<double>(count);
  std::string text;
  for (std::int64_t s = 0; s <= most; ++s) {
    const auto found = staleness.find(s);
    text += fmt::format(
        "{}{:.0f}", s == 0 ? "" : " / ",
        found == staleness.end() ? 0.0 : 100 * static_cast<double>(found->second) / all);
  }
  return text;
}

void print_row(const RealJob& job, const std::string& name, const std::string& link,
               const Pieces& pieces, const std::vector<runtime::ServedUpdate>& updates) {
  const Measured real = measured(updates, job.mode);
  const SyncOutcome simulated = forecast(job, pieces);
  const std::int64_t most =
      std::max(real.staleness.rbegin()->first, simulated.staleness.rbegin()->first);
  fmt::print("| {} | {} | {} | {:.2f} | {:.2f} | {:+.1f} % | {} | {} |\n", name, job.workers, link,
             simulated.updates_per_s, real.updates_per_s,
             100 * (simulated.updates_per_s / real.updates_per_s - 1),
             shares(simulated.staleness, most), shares(real.staleness, most));
  fmt::print(stderr,
             "{} over {}: gradient {:.2f} ms, push {:.2f} ms, pull {:.2f} ms, empty round trip "
             "{:.3f} ms, sum {:.3f} ms, {} parameters\n",
             name, link, 1e3 * pieces.gradient_s.front(), 1e3 * pieces.push_s, 1e3 * pieces.pull_s,
             1e3 * pieces.round_trip_s, 1e3 * pieces.sum_s, pieces.parameters);
}
}  // namespace
}  // namespace stepcast::real_sync

int main(int argc, char** argv) {
  using namespace stepcast;
  real_sync::RealJob job;
  std::string mode = "async", name = "row", link = "loopback", address = "127.0.0.1";
  int port = 0, worker = -1;
  CLI::App app("A parameter server and its workers, measured and simulated");
  app.add_option("--mode", mode)->check(CLI::IsMember({"bsp", "ssp", "async"}));
  app.add_option("--staleness", job.staleness, "ssp: steps ahead of the slowest")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--workers", job.workers)->check(CLI::Range(1, 64));
  app.add_option("--steps", job.steps, "of each worker on average")->check(CLI::Range(10, 100000));
  app.add_option("--sleep", job.sleep_s, "mean seconds of a step's sleep")
      ->check(CLI::PositiveNumber);
  app.add_option("--sigma", job.sigma, "lognormal jitter of the sleep")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--slower", job.slower, "multiple of the sleep, by worker")->delimiter(',');
  app.add_option("--name", name, "of the row");
  app.add_option("--link", link, "of the row, as text");
  app.add_option("--port", port)->required()->check(CLI::Range(1, 65535));
  app.add_option("--worker", worker, "be this worker; absent: be the server")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--address", address, "of the server");
  CLI11_PARSE(app, argc, argv);
  job.mode = *enum_from_text<SyncMode>(mode);
  try {
    if (worker >= 0) {
      real_sync::work(job, worker, runtime::Socket::connect(address, port, real_sync::kLimit));
      return 0;
    }
    const runtime::Socket listening = runtime::Socket::listen(port);
    const std::vector<float> parameters = real_sync::initial_parameters();
    const auto workers = real_sync::workers_at(listening, job.workers);
    const real_sync::Pieces pieces = real_sync::pieces_of(workers, parameters);
    const auto updates = real_sync::train(job, workers, parameters);
    const std::string broken = real_sync::broken_rule(job, updates);
    if (!broken.empty()) {
      fmt::print(stderr, "real_sync: {}\n", broken);
      return 1;
    }
    real_sync::print_row(job, name, link, pieces, updates);
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "real_sync: {}\n", e.what());
    return 3;
  }
}
