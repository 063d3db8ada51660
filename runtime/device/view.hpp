#pragma once
#include <cstddef>
#include <cstdint>

#include "sim/workload/op.hpp"

namespace stepcast::runtime {
/// Elements in device memory, borrowed: an address that only the device may follow, and how wide an
/// element is. Shapes stand in comments beside each view: B samples, T tokens per sample, C hidden,
/// H heads, K key/value heads, D head dimension, F MLP width, V vocabulary.
struct View {
  void* data = nullptr;
  Precision precision = Precision::fp32;

  explicit operator bool() const { return data != nullptr; }
  View at(std::int64_t element) const {
    return {static_cast<std::byte*>(data) + element * bytes_per_element(precision), precision};
  }
  /// Only where host and device share addresses (the cpu backend, pinned host memory).
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};
}  // namespace stepcast::runtime
