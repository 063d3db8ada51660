#pragma once
#include <vector>

#include "sim/workload/model_spec.hpp"
#include "sim/workload/op.hpp"
#include "sim/workload/parallel_layout.hpp"
#include "sim/workload/training_spec.hpp"

namespace stepcast {

/// One kind of layer as one rank runs it for one micro-batch, after sharding by tp, cp, ep and
/// sequence parallelism. Ops are in issue order and contain the tp/cp/ep collectives at their
/// places.
struct LayerWork {
  std::string name;  // "embedding", "block", "moe_block", "head", "conv2_1" ...
  std::vector<Op> forward;
  std::vector<Op>
      recompute;  // what the training's recompute mode repeats before this layer's backward
  std::vector<Op> backward;            // each op tagged backward_data or backward_weight
  std::int64_t dense_parameters = 0;   // per rank, elements (reduced over dp)
  std::int64_t expert_parameters = 0;  // per rank, elements (reduced over edp)
  std::int64_t local_parameters =
      0;  // per rank, elements that no other rank holds and the backward updates (fp32 tables)
  Bytes activation;       // kept per micro-batch from forward to backward, under the recompute mode
  Bytes working;          // extra live bytes while this layer runs (recomputed activations, largest
                          // temporary)
  Bytes weight_gradient;  // gradients of its weights before they are added to the accumulated ones,
                          // storage precision
  Bytes output;           // activation handed to the next layer, per rank: the pipeline message
  bool counts_as_block = true;  // false: embedding, head, loss: placed on the first or last stage
};

struct ModelWork {
  std::vector<LayerWork> kinds;
  std::vector<int> before;       // kinds that run on the first stage before the blocks, in order
  std::vector<int> blocks;       // kind of every block, in order
  std::vector<int> after;        // kinds that run on the last stage after the blocks
  Flops model_flops_per_sample;  // forward + backward, nothing recomputed, whole model: the
                                 // numerator of MFU
  std::int64_t tied_parameters =
      0;  // per rank elements shared by first and last stage (needs an embedding all-reduce)
};

/// Amounts of the whole model under a layout. Requires a layout that passed check_layout.
ModelWork model_work(const ModelSpec& model, const TrainingSpec& training,
                     const ParallelLayout& layout);

/// Work of one optimizer step over this rank's parameters: gradient norm, clip, update, casts.
/// `updated` elements are updated here (sharded under ZeRO), `held` gradient elements enter the
/// norm.
std::vector<Op> optimizer_ops(std::int64_t updated, std::int64_t held,
                              const TrainingSpec& training);
}  // namespace stepcast
