#pragma once
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace stepcast::trace {
/// Memory for columns: large blocks lie on 2 MiB pages where the kernel gives them, because in
/// virtual machines the first touch of small pages costs more than writing them (16 % of an import,
/// measured with perf).
template <class T>
struct HugeAllocator {
  using value_type = T;
  static constexpr std::size_t kPage = std::size_t{1} << 21;
  HugeAllocator() = default;
  template <class U>
  HugeAllocator(const HugeAllocator<U>&) {}  // NOLINT: what the standard asks of allocators
  T* allocate(std::size_t n) {
    std::size_t bytes = n * sizeof(T);
    const bool is_large = bytes >= kPage;
    if (is_large) bytes = (bytes + kPage - 1) / kPage * kPage;
    void* memory =
        is_large ? std::aligned_alloc(kPage, bytes) : std::malloc(std::max<std::size_t>(bytes, 1));
    if (memory == nullptr) throw std::bad_alloc();
    if (is_large)
      madvise(memory, bytes, MADV_HUGEPAGE);  // advice: a kernel without huge pages ignores it
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) { std::free(memory); }
  friend bool operator==(const HugeAllocator&, const HugeAllocator&) { return true; }
};
template <class T>
using HugeVector = std::vector<T, HugeAllocator<T>>;

/// Uninitialised, shared.
template <class T>
std::shared_ptr<T[]> huge_array(std::size_t n) {
  return std::shared_ptr<T[]>(HugeAllocator<T>().allocate(n), [](T* memory) { std::free(memory); });
}
}  // namespace stepcast::trace
