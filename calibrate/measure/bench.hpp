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

/// Enqueues `work` again and again and takes the device's own time of each run from the recorder,
/// until the rule is content. `work(round)` enqueues one run; round lets it rotate buffers so that
/// they are as cold as in a step.
Summary time_on_device(Bench& bench, runtime::Stream& stream, const std::function<void(int)>& work);
/// The same for work that all ranks do together: rounds are agreed on, each starts together, and
/// the fastest rank's time counts (the others' holds their wait for it).
Summary time_on_all_ranks(Bench& bench, runtime::Stream& stream,
                          const std::function<void(int)>& work);
}  // namespace stepcast::calibrate
