#pragma once
#include <cstddef>
#include <functional>
#include <string>

/// The emulation's kernels for a caller that includes CUDA's headers, whose dim3 is another type.
namespace stepcast::emulation {
/// A launch of the kernel with that mangled name, arguments copied, to run later; empty when there
/// is none. `shape`: grid x, y, z and block x, y, z.
std::function<void()> bind_kernel(const std::string& mangled, const unsigned (&shape)[6],
                                  std::size_t shared, void** arguments);
/// Of the calling thread's launches from now on.
void use_adversarial_schedule(unsigned seed);
}  // namespace stepcast::emulation
