#pragma once
#include "runtime/step/trainer.hpp"

namespace stepcast::runtime {
/// Enqueues one training step on its streams; the host does not wait. `step` counts from 1 and
/// corrects Adam's bias. The batches were loaded. Ops carry the simulator's names.
void train_step(Trainer& trainer, std::int64_t step);
}  // namespace stepcast::runtime
