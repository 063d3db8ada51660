#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/measure/journal.hpp"
#include "runtime/backend/backend.hpp"
#include "runtime/device/kernels.hpp"

namespace stepcast::calibrate {

/// What a measurement works on. Every rank runs the same tasks in the same order.
struct Bench {
  runtime::Backend& backend;
  runtime::Device& device;
  runtime::Store& store;
  runtime::Communicator& world;
  runtime::Stream& compute;
  runtime::Stream& side;  // high priority
  std::string interface;  // of further groups
  Seconds time_limit{120};
  StoppingRule rule;
};

/// One line of the journal and of the progress display.
struct Task {
  std::string name;
  std::function<std::vector<Entry>(Bench&)> measure;
};

/// What each rank found, on every rank: decisions taken from it are the same everywhere. All ranks
/// call it with equally many figures.
std::vector<std::vector<double>> of_all_ranks(Bench& bench, const std::vector<double>& mine);
double slowest_of(Bench& bench, double mine);
double fastest_of(Bench& bench, double mine);

/// Seconds from a common start of all ranks to the end of the computation and of the side stream's
/// work, the slowest rank's each; 0 of what was not enqueued.
struct Window {
  double compute_s = 0, side_s = 0;
};
/// One run of both at once: `side` enqueues on the bench's side stream, `compute` on others.
Window window_of(Bench& bench, const std::function<void()>& compute,
                 const std::function<void()>& side);

/// Enqueues `work` again and again and takes the device's own time of each run from the recorder,
/// until the rule is content. `work(round)` enqueues one run; round lets it rotate buffers so that
/// they are as cold as in a step.
Summary time_on_device(Bench& bench, runtime::Stream& stream, const std::function<void(int)>& work);
/// The same for work that all ranks do together: rounds are agreed on, each starts together, and
/// the fastest rank's time counts (the others' holds their wait for it).
Summary time_on_all_ranks(Bench& bench, runtime::Stream& stream,
                          const std::function<void(int)>& work);
}  // namespace stepcast::calibrate
