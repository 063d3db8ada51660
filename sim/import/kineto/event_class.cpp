#include "sim/import/kineto/event_class.hpp"

#include <utility>

namespace stepcast::kineto {
Class class_of(std::string_view category) {
  static constexpr std::pair<std::string_view, Class> known[] = {
      {"kernel", Class::kernel},
      {"Kernel", Class::kernel},
      {"gpu_memcpy", Class::copy},
      {"Memcpy", Class::copy},
      {"gpu_memset", Class::memset},
      {"Memset", Class::memset},
      {"cuda_runtime", Class::runtime},
      {"cuda_driver", Class::runtime},
      {"Runtime", Class::runtime},
      {"hip_runtime", Class::runtime},
      {"cpu_op", Class::host_op},
      {"Operator", Class::host_op},
      {"user_annotation", Class::annotation},
      {"gpu_user_annotation", Class::device_range},
      {"python_function", Class::skipped},
      {"cpu_instant_event", Class::skipped},
      {"Trace", Class::skipped},
      {"cuda_sync", Class::skipped},
      {"overhead", Class::skipped},
      {"Overhead", Class::skipped},
      {"ac2g", Class::skipped},
      {"async", Class::skipped},
      {"fwdbwd", Class::skipped},
      {"async_cpu_to_gpu", Class::skipped},
      {"async_gpu", Class::skipped},
      {"cuda_profiler_range", Class::skipped},
      {"forward_backward", Class::skipped}};
  for (const auto& [name, c] : known)
    if (category == name) return c;
  // Other accelerators follow the pattern: xpu_runtime, mtia_ccp_events, privateuse1_driver ...
  if (category.ends_with("_runtime") || category.ends_with("_driver")) return Class::runtime;
  return Class::unknown;
}

EventKind kind_of_call(std::string_view name) {
  if (name.find("ynchronize") != std::string_view::npos) return EventKind::sync;
  if (name == "cudaMemcpy" || name == "hipMemcpy" || name == "hipMemcpyWithStream")
    return EventKind::sync;  // both launch and wait
  if (name.find("LaunchKernel") != std::string_view::npos ||
      name.find("GraphLaunch") != std::string_view::npos ||
      name.find("MemcpyAsync") != std::string_view::npos ||
      name.find("MemsetAsync") != std::string_view::npos)
    return EventKind::launch;
  return EventKind::runtime;
}

bool has_costly_kernels(std::string_view name) {
  if (!name.starts_with("aten::") && name.find("flash_attn") == std::string_view::npos)
    return false;
  for (std::string_view word : {"mm", "linear", "conv", "attention", "matmul", "flash_attn"})
    if (name.find(word) != std::string_view::npos) return true;
  return false;
}
}  // namespace stepcast::kineto
