#pragma once
#include <memory>
#include <vector>

#include "runtime/model/model.hpp"
#include "sim/workload/parallel_layout.hpp"

namespace stepcast::runtime {
/// What the runtime cannot run of a transformer that the simulator can, each with what it can:
/// dropout, experts, latent attention, encoders, parallel blocks, unfused attention, selective
/// recompute ...
void check_transformer(const ModelSpec& model, const TrainingSpec& training,
                       const ParallelLayout& layout, Problems& problems);

struct TransformerPlan {
  TransformerSpec model;
  TrainingSpec training;
  ParallelLayout layout;
  RankCoordinates at;  // this rank's place; its stage and tensor rank decide what it holds
};
/// One pipeline stage of a decoder: [embedding] blocks [final norm, head, loss]. `slots`:
/// micro-batches whose activations are held at once; `micro_batches`: of a step. Parameters are
/// laid out but not allocated.
std::unique_ptr<Model> new_transformer(Device& device, const TransformerPlan& plan, int slots,
                                       int micro_batches);
}  // namespace stepcast::runtime
