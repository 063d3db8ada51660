// stepcast-bench: what simulating one training step costs, against the size of the cluster.
//
//   stepcast-bench                       the table of README.md
//   stepcast-bench --nodes 1024 --oversubscription 4 --random --engine simgrid --here    one row,
//   in this process
//
// A row is one step of a GPT-3-like job, lowered by hand (tests/support/pipeline_job.hpp): pipeline
// of 8 stages x N/8 replicas, one worker per node of 8 GPUs, 24 micro-batches 1F1B, 10 gradient
// buckets, 5 % straggling replicas, hashed 2-level fat tree. Every row runs in a child of its own,
// so that memory is its own and SimGrid's clock starts at 0.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <string>

#include "sim/engine/step_executor.hpp"
#include "tests/support/pipeline_job.hpp"

namespace {
using namespace stepcast;

struct Row {
  int nodes = 1024;
  double oversubscription = 1;
  bool random_placement = false, is_adaptive = false;
  EngineKind engine = EngineKind::simgrid;
};

// GPT-3 175B on H100 nodes, TP 8: 2 * 175e9 / 8 stages * 2048 tokens / (8 GPUs * 400 TFLOP/s) = 28
// ms forward, twice that backward; (B T C) bf16 = 50 MB a message; 43.75 GB of bf16 gradients per
// node.
tests::PipelineShape shape_of(const Row& row) {
  tests::PipelineShape shape;
  shape.stages = 8;
  shape.replicas = row.nodes / shape.stages;
  shape.micro_batches = 24;
  shape.buckets = 10;
  shape.forward_s = 0.028;
  shape.backward_s = 0.056;
  shape.gradient_bytes = 43.75e9;
  shape.straggler_sigma = 0.05;
  shape.oversubscription = row.oversubscription;
  shape.random_placement = row.random_placement;
  shape.is_adaptive = row.is_adaptive;
  return shape;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string measured(const Row& row) {
  const auto start = std::chrono::steady_clock::now();
  const Job job = tests::pipeline_job(shape_of(row));
  const double built = seconds_since(start);
  const auto network = make_network(row.engine);
  const StepOutcome outcome = execute_step(job, *network);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double user = static_cast<double>(usage.ru_utime.tv_sec) +
                      1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
  return fmt::format(
      "| {} | {} | {}:1 | {} | {} | {:.2f} | {:.2f} | {:.2f} | {} | {:.0f} | {:.6f} |",
      8 * row.nodes, row.random_placement ? "random" : "contiguous", row.oversubscription,
      row.is_adaptive ? "adaptive" : "hashed", text_of(row.engine), built, seconds_since(start),
      user, outcome.events, static_cast<double>(usage.ru_maxrss) / 1024, outcome.step_s);
}

int in_child(const Row& row) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    std::puts(measured(row).c_str());
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}
}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Cost of simulating one step against the size of the cluster");
  std::vector<int> sizes{64, 256, 1024, 2048, 8192, 12504};
  std::vector<std::string> engines{"native", "simgrid"};
  double oversubscription = 0;
  bool is_random = false, is_adaptive = false, is_here = false;
  app.add_option("--nodes", sizes, "nodes of 8 GPUs, multiples of 8")->capture_default_str();
  app.add_option("--engine", engines, "simgrid, native, analytic")->capture_default_str();
  app.add_option("--oversubscription", oversubscription,
                 "one case of this ratio in place of the table's three");
  app.add_flag("--random", is_random, "random placement, with --oversubscription");
  app.add_flag("--adaptive", is_adaptive, "adaptive routing, with --oversubscription");
  app.add_flag("--here", is_here, "run in this process, for profilers");
  CLI11_PARSE(app, argc, argv);

  std::vector<Row> cases{{.oversubscription = 1},
                         {.oversubscription = 4, .random_placement = true},
                         {.oversubscription = 4, .random_placement = true, .is_adaptive = true}};
  if (oversubscription > 0)
    cases = {{.oversubscription = oversubscription,
              .random_placement = is_random,
              .is_adaptive = is_adaptive}};
  std::puts(
      "| GPUs | placement | taper | routing | engine | build s | wall s | user s | events | peak "
      "MiB | step s |");
  std::puts("|---|---|---|---|---|---|---|---|---|---|---|");
  for (const int nodes : sizes) {
    for (Row row : cases) {
      for (const std::string& engine : engines) {
        row.nodes = nodes;
        row.engine = enum_from_text<EngineKind>(engine).value();
        if (is_here)
          std::puts(measured(row).c_str());
        else if (in_child(row) != 0)
          std::puts("| failed |");
      }
    }
  }
  return 0;
}
