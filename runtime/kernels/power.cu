#include "runtime/kernels/power.cuh"

#include <type_traits>

#include "runtime/kernels/launch.hpp"

namespace stepcast::runtime::launch {
namespace {
template <class Launch>
void by_rank(int rank, const Launch& launch) {
  if (rank <= 2)
    launch(std::integral_constant<int, 2>{});
  else if (rank <= 4)
    launch(std::integral_constant<int, 4>{});
  else if (rank <= 8)
    launch(std::integral_constant<int, 8>{});
  else
    launch(std::integral_constant<int, kLargestRank>{});
}
}  // namespace
void power_start(CudaStream stream, View q, const PowerShape& shape, std::uint64_t seed) {
  const std::int64_t count = shape.cols * shape.rank;
  STEPCAST_LAUNCH((power_start_kernel), grid_of(count), kThreads, 0, stream, q.as<float>(), count,
                  seed);
}
void power_project(CudaStream stream, View x, View q, View p, const PowerShape& shape) {
  by_rank(shape.rank, [&](auto rank) {
    constexpr int kRank = decltype(rank)::value;
    STEPCAST_LAUNCH((power_project_kernel<kRank>), static_cast<unsigned>(shape.rows), kThreads, 0,
                    stream, x.as<float>(), q.as<float>(), p.as<float>(), shape);
  });
}
void power_orthonormalise(CudaStream stream, View p, const PowerShape& shape) {
  STEPCAST_LAUNCH((power_orthonormalise_kernel), 1, kThreads, 0, stream, p.as<float>(), shape);
}
void power_back(CudaStream stream, View x, View p, View q, const PowerShape& shape) {
  by_rank(shape.rank, [&](auto rank) {
    constexpr int kRank = decltype(rank)::value;
    STEPCAST_LAUNCH((power_back_kernel<kRank>), static_cast<unsigned>((shape.cols + 31) / 32),
                    kThreads, 0, stream, x.as<float>(), p.as<float>(), q.as<float>(), shape);
  });
  STEPCAST_LAUNCH((power_subtract_kernel), grid_of(shape.elements), kThreads, 0, stream,
                  x.as<float>(), p.as<float>(), q.as<float>(), shape);
}
void power_expand(CudaStream stream, View p, View q, View g, const PowerShape& shape) {
  STEPCAST_LAUNCH((power_expand_kernel), grid_of(shape.elements), kThreads, 0, stream,
                  p.as<float>(), q.as<float>(), g.as<float>(), shape);
}
}  // namespace stepcast::runtime::launch
