#pragma once
#include <memory>
#include <vector>

#include "runtime/backend/backend.hpp"
#include "runtime/model/batches.hpp"
#include "runtime/step/gradient_buckets.hpp"
#include "runtime/step/optimizer.hpp"
#include "runtime/step/pipeline_links.hpp"
#include "sim/schedule/schedule.hpp"
#include "sim/workload/model_spec.hpp"
#include "sim/workload/parallel_layout.hpp"
#include "sim/workload/training_spec.hpp"

namespace stepcast::runtime {

/// What to train and how, in the simulator's own types: the same objects describe the step that is
/// forecast.
struct TrainingPlan {
  ModelSpec model;
  TrainingSpec training;
  ParallelLayout layout;
  BucketPolicy buckets;
  OptimizerSettings optimizer;
  std::uint64_t seed = 1;
  Seconds time_limit{120};  // of any wait for other ranks
  std::string interface;    // network interface of the collectives; empty: the default
};

/// Everything a rank needs for its steps, put together once. Members are public: train_step reads
/// them like the method's symbols.
struct Trainer {
  /// Throws InputError listing every part of the plan that the runtime cannot run.
  Trainer(Backend& backend, Device& device, Store& store, int rank, const TrainingPlan& plan);

  /// Inputs of one step for this rank's replica, copied to the device.
  void load_batches(std::int64_t step) { batches->load(*loading, step); }
  MicroBatch micro_batch(int index) const { return batches->micro_batch(index); }
  /// Mean loss over the global batch of the last step. Every rank calls it; waits.
  double mean_loss();

  Device& device;
  TrainingPlan plan;
  int rank;
  RankCoordinates at;
  int micro_batches;
  std::vector<Work> schedule;  // the very list the simulator expands
  std::unique_ptr<Communicator> data_parallel, tensor_parallel, stages, world;
  std::unique_ptr<Model> model;
  std::unique_ptr<Batches> batches;
  std::unique_ptr<GradientBuckets> buckets;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<PipelineLinks> links;  // null with one stage
  float loss_scale;

 private:
  Buffer host_losses_, loss_;

 public:
  // Last, so that they are gone first: what is still queued uses everything above.
  std::unique_ptr<Stream> compute, loading;
};
}  // namespace stepcast::runtime
