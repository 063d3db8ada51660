#include <numeric>
#include <set>
#include <stdexcept>

#include "runtime/kernels/language.cuh"
#include "tests/runtime/kernels/kernel_test.hpp"

using namespace stepcast::runtime;
using stepcast::emulation::Schedule;

namespace emulation_test {
/// Reverses a block through shared memory; without the barrier a thread may read before its partner
/// wrote.
template <bool kHasBarrier>
__global__ void reverse(const int* in, int* out) {
  __shared__ int shared[128];
  shared[threadIdx.x] = in[threadIdx.x];
  if (kHasBarrier) __syncthreads();
  out[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
  __syncthreads();
}
__global__ void diverge(int* out) {
  if (threadIdx.x < 10) __syncthreads();
  out[threadIdx.x] = 1;
}
__global__ void lanes(int* sums, unsigned* votes, int* shifted) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  int sum = static_cast<int>(threadIdx.x);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  sums[threadIdx.x] = sum;
  votes[threadIdx.x] = __ballot_sync(0xffffffffu, lane % 3 == 0 ? 1 : 0);
  shifted[threadIdx.x] = __shfl_up_sync(0xffffffffu, lane, 2);
}
__global__ void past_the_end(float* out) {
  STEPCAST_DYNAMIC_SHARED(float, tile);
  out[0] = tile[threadIdx.x];  // read before any write
}
__global__ void count_all(int* out) {
  const int odd = __syncthreads_count(threadIdx.x % 2 == 1 ? 1 : 0),
            low = __syncthreads_count(threadIdx.x < 5 ? 1 : 0);
  out[threadIdx.x] = 1000 * odd + low;
}
__global__ void raise_error() { throw std::runtime_error("from a kernel"); }
}  // namespace emulation_test
using namespace emulation_test;

TEST_CASE("with its barrier a kernel gives the same result under all schedules", "[kernels]") {
  std::vector<int> in(128), out(128), expected(128);
  std::iota(in.begin(), in.end(), 0);
  std::iota(expected.rbegin(), expected.rend(), 0);
  under_each_schedule([&] {
    std::fill(out.begin(), out.end(), -1);
    STEPCAST_LAUNCH((reverse<true>), 1, 128, 0, nullptr, in.data(), out.data());
    REQUIRE(out == expected);
  });
}
TEST_CASE("a removed barrier shows under the adversarial schedule", "[kernels]") {
  std::vector<int> in(128), out(128), expected(128);
  std::iota(in.begin(), in.end(), 1);
  std::iota(expected.rbegin(), expected.rend(), 1);
  stepcast::emulation::set_schedule(Schedule::adversarial);
  STEPCAST_LAUNCH((reverse<false>), 1, 128, 0, nullptr, in.data(), out.data());
  stepcast::emulation::set_schedule(Schedule::in_order);
  REQUIRE(out != expected);
}
TEST_CASE("a barrier that part of a block never reaches is reported with the kernel's name",
          "[kernels]") {
  std::vector<int> out(64);
  std::string text;
  try {
    STEPCAST_LAUNCH((diverge), 1, 64, 0, nullptr, out.data());
  } catch (const std::runtime_error& error) {
    text = error.what();
  }
  REQUIRE(text.find("diverge") != std::string::npos);
  REQUIRE(text.find("thread 0 at a block barrier") != std::string::npos);
}
TEST_CASE("shuffles and votes follow CUDA's definition in a full and a second warp", "[kernels]") {
  std::vector<int> sums(64), shifted(64);
  std::vector<unsigned> votes(64);
  under_each_schedule([&] {
    STEPCAST_LAUNCH((lanes), 1, 64, 0, nullptr, sums.data(), votes.data(), shifted.data());
    // Warp 0 holds 0..31, sum 496; warp 1 holds 32..63, sum 1520. Lanes 0, 3, ..., 30 vote:
    // 0x49249249.
    for (std::size_t i = 0; i < 64; ++i) {
      REQUIRE(sums[i] == (i < 32 ? 496 : 1520));
      REQUIRE(votes[i] == 0x49249249u);
      REQUIRE(shifted[i] == static_cast<int>(i % 32 < 2 ? i % 32 : i % 32 - 2));
    }
  });
}
TEST_CASE("counts of a block are those of one barrier and not of the next", "[kernels]") {
  std::vector<int> out(96);
  under_each_schedule([&] {
    STEPCAST_LAUNCH((count_all), 1, 96, 0, nullptr, out.data());
    for (const int value : out) REQUIRE(value == 48005);
  });
}
TEST_CASE("dynamic shared memory is poisoned so that a read before a write is NaN", "[kernels]") {
  float out = 0;
  STEPCAST_LAUNCH((past_the_end), 1, 1, sizeof(float), nullptr, &out);
  REQUIRE(std::isnan(out));
}
TEST_CASE("launch shapes that no GPU takes and exceptions of kernels reach the caller",
          "[kernels]") {
  int out[1] = {};
  REQUIRE_THROWS_WITH(STEPCAST_LAUNCH((count_all), 1, 2048, 0, nullptr, out),
                      Catch::Contains("launch shape that no GPU takes"));
  REQUIRE_THROWS_WITH(STEPCAST_LAUNCH((count_all), 0, 32, 0, nullptr, out),
                      Catch::Contains("launch shape that no GPU takes"));
  REQUIRE_THROWS_WITH(
      (stepcast::emulation::run_grid(1, 1, 0, "raise_error", [] { raise_error(); })),
      Catch::Contains("from a kernel"));
}
