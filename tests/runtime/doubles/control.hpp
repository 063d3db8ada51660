#pragma once
#include <cstdint>

/// How a test steers the doubles, all of them exported by the double of cudart.
///   environment: STEPCAST_DOUBLE_DEVICES (2), STEPCAST_DOUBLE_JITTER_US (0): every piece of stream
///   work first sleeps up to so long
extern "C" {
/// The n-th call (from 1, counted from now) of `function` fails; n = 0: none.
void stepcast_double_fail(const char* function, int n);
/// True when this call of `function` has to fail. The doubles of the other libraries ask, too.
bool stepcast_double_must_fail(const char* function);
/// Calls of `function` since the start.
int stepcast_double_calls(const char* function);
/// Live streams, events, blocks of memory and graphs.
int stepcast_double_live();
void stepcast_double_jitter(int microseconds, std::uint64_t seed);

/// Stream work that a tracer sees as a kernel of that name: what cuBLASLt and NCCL launch. Returns
/// a cudaError_t.
int stepcast_double_launch(void* stream, void (*run)(void*), void* data, const char* name);

/// What the double of CUPTI hooks into.
struct StepcastDoubleHook {
  /// On the calling thread of every launch, copy or fill: a correlation id.
  std::uint32_t (*enqueued)();
  /// On the stream's thread. kind: 0 kernel, 1 copy, 2 fill.
  void (*executed)(int kind, std::uint32_t correlation, std::uint32_t stream, std::int64_t start_ns,
                   std::int64_t end_ns, const char* name, std::uint64_t graph_node);
};
void stepcast_double_set_hook(const StepcastDoubleHook* hook);
std::uint32_t stepcast_double_stream_id(void* stream);
}
