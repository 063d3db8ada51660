#pragma once
#include <memory>

#include "runtime/model/model.hpp"
#include "sim/workload/parallel_layout.hpp"

namespace stepcast::runtime {
/// What the runtime cannot run of a convolutional network that the simulator can, each with what it
/// can.
void check_conv_net(const ModelSpec& model, const TrainingSpec& training,
                    const ParallelLayout& layout, Problems& problems);
/// ResNet-style network on one rank: convolutions with batch norm, residual blocks, pooling, global
/// average, classifier, cross-entropy. Statistics are those of a rank's micro-batch, as in
/// PyTorch's DDP. Parameters are laid out but not allocated.
std::unique_ptr<Model> new_conv_net(Device& device, const CnnSpec& model,
                                    const TrainingSpec& training, int micro_batches);
}  // namespace stepcast::runtime
