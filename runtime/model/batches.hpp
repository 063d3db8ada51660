#pragma once
#include <memory>

#include "runtime/model/model.hpp"
#include "sim/workload/model_spec.hpp"
#include "sim/workload/training_spec.hpp"

namespace stepcast::runtime {
/// The synthetic inputs of one rank's steps, made on the host and copied to the device between
/// steps.
class Batches {
 public:
  virtual ~Batches() = default;
  /// Those of `step` are on the device when it returns.
  virtual void load(Stream& stream, std::int64_t step) = 0;
  virtual MicroBatch micro_batch(int index) const = 0;
};
/// `first_sample`: number of this rank's first sample in the step's global batch. A sample depends
/// on (seed, step, its number) alone, so any split over ranks trains on the same data.
std::unique_ptr<Batches> new_batches(Device& device, const ModelSpec& model,
                                     const TrainingSpec& training, int micro_batches,
                                     std::int64_t first_sample, std::uint64_t seed);
}  // namespace stepcast::runtime
