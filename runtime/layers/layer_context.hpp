#pragma once
#include "runtime/comm/communicator.hpp"
#include "runtime/device/kernels.hpp"

namespace stepcast::runtime {
/// Where a layer runs and under which micro-batch its ops are recorded.
struct LayerContext {
  Device& device;
  Stream& stream;
  Communicator* tensor = nullptr;  // tensor-parallel group; null: the layer is whole
  std::int32_t micro_batch = -1;

  Kernels& kernels() const { return device.kernels(); }
  /// Names what is enqueued while it lives.
  OpScope op(std::string_view name, Category category = Category::compute) const {
    return OpScope(device.recorder(), name, category, micro_batch);
  }
  int tensor_size() const { return tensor == nullptr ? 1 : tensor->size(); }
  int tensor_rank() const { return tensor == nullptr ? 0 : tensor->rank(); }
};

/// Hears which gradients are complete: all at `offset` and behind it in the arena. Called in
/// backward order, offsets fall.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  virtual void ready_from(std::int64_t offset) = 0;
};
}  // namespace stepcast::runtime
