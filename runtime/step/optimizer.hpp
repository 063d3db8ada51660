#pragma once
#include "runtime/step/gradient_buckets.hpp"
#include "sim/workload/training_spec.hpp"

namespace stepcast::runtime {
struct OptimizerSettings {
  float learning_rate = 1e-3f, weight_decay = 0.1f;  // GPT-3's decay, on every parameter
  float momentum = 0.9f;                             // sgd
  float table_rate = 0.1f;                           // of embedding tables, by plain SGD
  float clip_norm = 1.0f;                            // GPT-3; 0 = no clipping
};
/// Which parts of the arenas this rank updates, and over whom the square sum of the gradients is
/// completed.
struct OptimizerScope {
  std::vector<Bucket> buckets;  // of the data-parallel reduction
  bool shards = false;          // ZeRO-1: own part of each bucket
  int data_rank = 0, data_size = 1;
  Communicator* world = nullptr;  // null: this rank holds every gradient, the norm needs no message
  bool counts_replicated =
      true;  // this rank's copy of tensors that tensor-parallel ranks share enters the norm
  bool counts_any = true;  // false on replicas whose gradients another rank counts
};

/// Global-norm clip and AdamW, or SGD with momentum, over arenas, as few multi-tensor kernels.
class Optimizer {
 public:
  /// `kind`: adam or sgd.
  Optimizer(Device& device, Parameters& parameters, OptimizerScope scope, OptimizerKind kind,
            const OptimizerSettings& settings);
  /// Moments and velocity start at zero; memory of a device does not.
  void clear_state(Stream& stream);
  /// grad_norm, its all-reduce, clip. The norm stays on the device.
  void clip_gradients(Stream& stream);
  /// adam or sgd, then zero_grad; under ZeRO-1 parameters are gathered by gather_parameters.
  void update_parameters(Stream& stream, std::int64_t step);
  void gather_parameters(Stream& stream, Communicator& data_parallel);
  /// Square of the gradients' global norm before clipping, of the last step. Waits.
  double last_square_norm(Stream& stream);

 private:
  struct Range {
    std::int64_t begin, elements, state;
  };  // in the arenas, and in the state's
  void adam(Stream& stream, const Range& range, std::int64_t step);
  void sgd(Stream& stream, const Range& range);
  Device& device_;
  Parameters& parameters_;
  OptimizerScope scope_;
  OptimizerKind kind_;
  OptimizerSettings settings_;
  std::vector<Range> updated_, counted_;
  Buffer first_, second_, square_sum_;  // sgd: the first is the velocity
};
}  // namespace stepcast::runtime
