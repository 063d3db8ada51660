#pragma once
#include <cstdint>
#include <string_view>

#include "sim/import/common/rank_trace.hpp"

/// What a profiler event is, from its category and name; torch.profiler from 1.8 on.
namespace stepcast::kineto {
/// What a category's events are to us; `skipped` are counted by category, not kept.
enum class Class : std::uint8_t {
  kernel,
  copy,
  memset,
  runtime,
  host_op,
  annotation,
  device_range,
  skipped,
  unknown
};

Class class_of(std::string_view category);
/// A call of the CUDA or HIP runtime: launch, wait or other.
EventKind kind_of_call(std::string_view name);
/// Operators that launch the kernels whose time a profile keeps by shape.
bool has_costly_kernels(std::string_view name);
}  // namespace stepcast::kineto
