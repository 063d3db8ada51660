#pragma once
#include <vector>

#include "calibrate/measure/bench.hpp"
#include "sim/workload/op.hpp"

/// Isolated kernels over training shapes. Each list is tasks; a task measures one shape, its entry
/// is keyed as the simulator asks.
namespace stepcast::calibrate {
enum class Depth { quick, full };

/// GEMMs of transformer layers over widths and token counts, in the three layouts of training:
/// forward x W^T, input gradient dy W, weight gradient dy^T x (accumulating).
std::vector<Task> gemm_tasks(Depth depth, Precision precision);
/// The layout behind one GEMM op, on fresh buffers, rotating over more memory than the caches hold
/// where the shape allows.
Summary time_gemm(Bench& bench, const GemmShape& shape, Pass pass, Precision precision);
/// Causal attention, forward and backward.
std::vector<Task> attention_tasks(Depth depth, Precision precision);
/// Bandwidth-bound kernels by kind and size, forward and backward: elementwise, norm, loss,
/// embedding, optimizer, reduction, copy. On fp32 buffers: time follows bytes, so that a step of
/// any precision reads its rate here.
std::vector<Task> stream_tasks(Depth depth);
/// "launch/host": host time to enqueue a kernel; "launch/kernel": an empty-sized kernel's time on
/// the device, back to back with others; "launch/hand_over": from a kernel's end to the start of
/// one on another stream that waits for it.
std::vector<Task> launch_tasks();
}  // namespace stepcast::calibrate
