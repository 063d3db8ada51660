#include "sim/timeline/op_names.hpp"
#include "sim/workload/model_work.hpp"
#include "sim/workload/op_makers.hpp"

namespace stepcast {
namespace {
/// Elements that one multi-tensor kernel covers: 320 blocks of 65536 elements (Apex
/// multi_tensor_apply, PyTorch foreach).
constexpr std::int64_t kElementsPerLaunch = 320 * 65536;

int launches_for(std::int64_t elements, int kernels) {
  return static_cast<int>((elements + kElementsPerLaunch - 1) / kElementsPerLaunch) * kernels;
}

/// Reads and writes per element of an update in 32-bit words, and kernels per chunk.
struct Update {
  std::string_view name;
  int fused_reads, fused_writes, eager_reads, eager_writes, eager_kernels;
};
Update update_of(OptimizerKind kind) {
  switch (kind) {
    // Fused: gradient, parameter, two moments in; parameter and moments out. Eager (foreach) Adam:
    // decay, lerp, mul, addcmul, sqrt, div, add, addcdiv. The gradient is counted apart: its width
    // varies.
    case OptimizerKind::adam:
      return {op::adam, 3, 3, 10, 8, 8};
    case OptimizerKind::sgd:
      return {op::sgd, 2, 2, 4, 3, 3};
    // LAMB: Adam's direction is stored, norms of parameter and direction are taken, then it is
    // applied.
    case OptimizerKind::lamb:
      return {op::lamb, 7, 4, 14, 9, 11};
  }
  return {};
}
}  // namespace

std::vector<Op> optimizer_ops(std::int64_t updated, std::int64_t held,
                              const TrainingSpec& training) {
  const std::int64_t g = bytes_per_element(training.gradient_precision);
  const std::int64_t e = bytes_per_element(training.precision) == 4 ? 4 : 2;
  const bool eager = training.fusion == Fusion::eager;
  std::vector<Op> ops;
  const auto add = [&](std::string_view name, StreamKind kind, std::int64_t read,
                       std::int64_t written, std::int64_t elements, int eager_kernels,
                       int fused_kernels) {
    ops.push_back(stream_op(name, Pass::optimizer, kind, read, written,
                            launches_for(elements, eager_kernels),
                            launches_for(elements, fused_kernels)));
    ops.back().precision = Precision::fp32;
  };
  if (training.gradient_clip) {
    add(op::grad_norm, StreamKind::reduction, held * g, 0, held, 1, 1);
    add(op::clip, StreamKind::elementwise, held * g, held * g, held, 1, 1);
  }
  if (training.master_weights && g < 4)  // the update works on fp32 gradients
    add(op::cast, StreamKind::copy, updated * g, updated * 4, updated, 1, 1);
  const Update u = update_of(training.optimizer);
  const std::int64_t gradient = training.master_weights && g < 4 ? 4 : g,
                     gradient_reads = eager ? 2 : 1;
  add(u.name, StreamKind::optimizer,
      updated * (4 * (eager ? u.eager_reads : u.fused_reads) + gradient * gradient_reads),
      updated * 4 * (eager ? u.eager_writes : u.fused_writes), updated, u.eager_kernels, 1);
  if (training.master_weights)
    add(op::param_cast, StreamKind::copy, updated * 4, updated * e, updated, 1, 1);
  if (bytes_per_element(training.precision) ==
      1)  // 8-bit weights and their transpose, once per step
    add(op::cast, StreamKind::copy, held * 2, held * 2, held, 1, 1);
  // Gradients are cleared for the next step.
  add(op::zero_grad, StreamKind::elementwise, 0, held * g, held, 1, 1);
  return ops;
}
}  // namespace stepcast
