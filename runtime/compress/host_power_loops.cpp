#include <algorithm>
#include <cmath>

#include "runtime/compress/host_compress_kernels.hpp"

/// PowerSGD's thin products. M is the gradient in rows of `cols`; the last row may be short.
namespace stepcast::runtime {
namespace {
std::int64_t row_width(const PowerShape& shape, std::int64_t row) {
  return std::min(shape.cols, shape.elements - row * shape.cols);
}

double column_dot(const float* p, const PowerShape& shape, int a, int b) {
  double sum = 0;
  for (std::int64_t row = 0; row < shape.rows; ++row)
    sum +=
        static_cast<double>(p[row * shape.rank + a]) * static_cast<double>(p[row * shape.rank + b]);
  return sum;
}
void subtract_earlier(float* p, const PowerShape& shape, int column) {
  for (int earlier = 0; earlier < column; ++earlier) {
    const auto dot = static_cast<float>(column_dot(p, shape, earlier, column));
    for (std::int64_t row = 0; row < shape.rows; ++row)
      p[row * shape.rank + column] -= dot * p[row * shape.rank + earlier];
  }
}
}  // namespace

void HostCompressKernels::power_start(Stream& stream, View q, const PowerShape& shape,
                                      std::uint64_t seed) {
  enqueue_(stream, [q = q.as<float>(), count = shape.cols * shape.rank, seed] {
    for (std::int64_t i = 0; i < count; ++i) q[i] = random_entry(seed, i);
  });
}
void HostCompressKernels::power_project(Stream& stream, View x, View q, View p,
                                        const PowerShape& shape) {
  enqueue_(stream, [x = x.as<float>(), q = q.as<float>(), p = p.as<float>(), shape] {
    for (std::int64_t row = 0; row < shape.rows; ++row) {
      float sums[kLargestRank] = {};
      for (std::int64_t col = 0; col < row_width(shape, row); ++col)
        for (int r = 0; r < shape.rank; ++r)
          sums[r] += x[row * shape.cols + col] * q[col * shape.rank + r];
      std::copy_n(sums, shape.rank, p + row * shape.rank);
    }
  });
}
void HostCompressKernels::power_orthonormalise(Stream& stream, View p, const PowerShape& shape) {
  enqueue_(stream, [p = p.as<float>(), shape] {
    for (int column = 0; column < shape.rank; ++column) {
      double before = column_dot(p, shape, column, column);
      subtract_earlier(p, shape, column);
      double norm = column_dot(p, shape, column, column);
      if (!(norm > kVanishingShare * before)) {
        // Depends on the others: start it anew, or the direction would stay empty for all later
        // steps.
        for (std::int64_t row = 0; row < shape.rows; ++row)
          p[row * shape.rank + column] = random_entry(static_cast<std::uint64_t>(column), row);
        subtract_earlier(p, shape, column);
        subtract_earlier(p, shape, column);
        norm = column_dot(p, shape, column, column);
      }
      const auto factor = norm > 0 ? static_cast<float>(1 / std::sqrt(norm)) : 0.0f;
      for (std::int64_t row = 0; row < shape.rows; ++row) p[row * shape.rank + column] *= factor;
    }
  });
}
void HostCompressKernels::power_back(Stream& stream, View x, View p, View q,
                                     const PowerShape& shape) {
  enqueue_(stream, [x = x.as<float>(), p = p.as<float>(), q = q.as<float>(), shape] {
    std::fill_n(q, shape.cols * shape.rank, 0.0f);
    for (std::int64_t row = 0; row < shape.rows; ++row)
      for (std::int64_t col = 0; col < row_width(shape, row); ++col)
        for (int r = 0; r < shape.rank; ++r)
          q[col * shape.rank + r] += x[row * shape.cols + col] * p[row * shape.rank + r];
    for (std::int64_t row = 0; row < shape.rows; ++row)
      for (std::int64_t col = 0; col < row_width(shape, row); ++col)
        for (int r = 0; r < shape.rank; ++r)
          x[row * shape.cols + col] -= p[row * shape.rank + r] * q[col * shape.rank + r];
  });
}
void HostCompressKernels::power_expand(Stream& stream, View p, View q, View g,
                                       const PowerShape& shape) {
  enqueue_(stream, [p = p.as<float>(), q = q.as<float>(), g = g.as<float>(), shape] {
    for (std::int64_t row = 0; row < shape.rows; ++row)
      for (std::int64_t col = 0; col < row_width(shape, row); ++col) {
        float sum = 0;
        for (int r = 0; r < shape.rank; ++r)
          sum += p[row * shape.rank + r] * q[col * shape.rank + r];
        g[row * shape.cols + col] = sum;
      }
  });
}
}  // namespace stepcast::runtime
