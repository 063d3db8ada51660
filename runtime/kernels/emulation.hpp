#pragma once
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <tuple>
#include <utility>

/// CUDA's execution model on the CPU, for tests: every CUDA thread is a fiber, blocks run one after
/// another on the calling thread. Barriers, shuffles, votes and warp syncs are rendezvous; one that
/// not all threads reach is reported as a deadlock. Not modelled: memory order between blocks that
/// run at once, asynchronous copies, tensor cores. Three schedules (see Schedule); a missing
/// barrier shows under `adversarial`.
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__ __restrict
// Blocks run one after another on a thread; kernels of other streams run on other threads.
#define __shared__ static thread_local

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct uint3 {
  unsigned x, y, z;
};
struct float4 {
  float x, y, z, w;
};
struct CUstream_st;
using cudaStream_t = CUstream_st*;

namespace stepcast::emulation {
enum class Schedule {
  in_order,     // thread 0 first, round by round
  shuffled,     // any ready thread, from a seed
  adversarial,  // the last warp runs as far as it can before another starts, its threads last to
                // first
};
/// Of the calling thread's launches from now on.
void set_schedule(Schedule schedule, std::uint64_t seed = 1);

struct Place {
  uint3 thread, block;
  dim3 block_size, grid;
};
extern thread_local Place place;

void run_grid(dim3 grid, dim3 block, std::size_t shared, const char* kernel,
              const std::function<void()>& body);
void* dynamic_shared();

enum class Scope { block, warp };
/// Waits for the others of the block, or for the lanes in `mask`.
void rendezvous(Scope scope, unsigned mask);
/// Gives `value` to the lanes in `mask`, waits for theirs, and reads that of `lane`.
std::uint64_t exchange(unsigned mask, std::uint64_t value, int lane);
unsigned ballot(unsigned mask, bool vote);
/// Sum over the block, after the barrier.
int count_block(bool vote);

/// Finds a kernel by its mangled name, as CUDA's runtime does. Invoke copies the arguments, which
/// `arguments` points to, and returns the launch to run later.
using Invoke = std::function<void()> (*)(dim3 grid, dim3 block, std::size_t shared,
                                         void** arguments);
Invoke find_kernel(const std::string& mangled);
bool add_kernel(const void* address, Invoke invoke);

template <auto Kernel, class Signature>
struct Launcher;
template <auto Kernel, class... Parameters>
struct Launcher<Kernel, void (*)(Parameters...)> {
  template <std::size_t... I>
  static std::tuple<Parameters...> copied(void** arguments, std::index_sequence<I...>) {
    return std::tuple<Parameters...>(*static_cast<Parameters*>(arguments[I])...);
  }
  static std::function<void()> invoke(dim3 grid, dim3 block, std::size_t shared, void** arguments) {
    const std::tuple<Parameters...> values =
        copied(arguments, std::index_sequence_for<Parameters...>{});
    return [grid, block, shared, values] {
      run_grid(grid, block, shared, __PRETTY_FUNCTION__, [&] { std::apply(Kernel, values); });
    };
  }
  static inline const bool is_listed = add_kernel(reinterpret_cast<const void*>(Kernel), &invoke);
};
template <auto Kernel, class... Arguments>
void launch(dim3 grid, dim3 block, std::size_t shared, cudaStream_t, Arguments... arguments) {
  using L = Launcher<Kernel, decltype(Kernel)>;
  static_cast<void>(L::is_listed);
  run_grid(grid, block, shared, __PRETTY_FUNCTION__, [&] { Kernel(arguments...); });
}
}  // namespace stepcast::emulation

#define threadIdx (::stepcast::emulation::place.thread)
#define blockIdx (::stepcast::emulation::place.block)
#define blockDim (::stepcast::emulation::place.block_size)
#define gridDim (::stepcast::emulation::place.grid)

inline void __syncthreads() {
  ::stepcast::emulation::rendezvous(::stepcast::emulation::Scope::block, 0);
}
inline void __syncwarp(unsigned mask = 0xffffffffu) {
  ::stepcast::emulation::rendezvous(::stepcast::emulation::Scope::warp, mask);
}
inline int __lane_of_emulation() {
  return static_cast<int>((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) &
                          31u);
}
template <class T>
T __shfl_sync(unsigned mask, T value, int lane) {
  static_assert(sizeof(T) <= 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = ::stepcast::emulation::exchange(mask, bits, lane);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes) {
  return __shfl_sync(mask, value, __lane_of_emulation() ^ lanes);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta) {
  const int lane = __lane_of_emulation();
  return __shfl_sync(mask, value,
                     lane >= static_cast<int>(delta) ? lane - static_cast<int>(delta) : lane);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta) {
  const int lane = __lane_of_emulation();
  return __shfl_sync(mask, value,
                     lane + static_cast<int>(delta) < 32 ? lane + static_cast<int>(delta) : lane);
}
inline unsigned __ballot_sync(unsigned mask, int vote) {
  return ::stepcast::emulation::ballot(mask, vote != 0);
}
inline int __syncthreads_count(int vote) { return ::stepcast::emulation::count_block(vote != 0); }
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }

inline float atomicAdd(float* to, float value) {
  return std::atomic_ref<float>(*to).fetch_add(value);
}
inline unsigned atomicAdd(unsigned* to, unsigned value) {
  return std::atomic_ref<unsigned>(*to).fetch_add(value);
}
inline int atomicAdd(int* to, int value) { return std::atomic_ref<int>(*to).fetch_add(value); }

using std::max;
using std::min;
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline float __fdividef(float a, float b) { return a / b; }
