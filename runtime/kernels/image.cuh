#pragma once
#include "runtime/kernels/reduce.cuh"
#include "sim/workload/op.hpp"

/// Images are NHWC. Convolution is a matrix product over columns (n out_h out_w, groups * kh * kw *
/// c_in / groups).
namespace stepcast::runtime {
struct ConvGeometry {
  std::int64_t n, h, w, channels, kh, kw, stride, pad_h, pad_w, out_h, out_w, groups, per_group;
};
inline ConvGeometry geometry_of(const ConvShape& s) {
  const std::int64_t stride = s.stride > 0 ? s.stride : 1, groups = s.groups > 0 ? s.groups : 1,
                     kw = s.kernel_w > 0 ? s.kernel_w : s.kernel;
  return {s.n,
          s.h,
          s.w,
          s.c_in,
          s.kernel,
          kw,
          stride,
          (s.kernel - 1) / 2,
          (kw - 1) / 2,
          (s.h + stride - 1) / stride,
          (s.w + stride - 1) / stride,
          groups,
          s.c_in / groups};
}

template <class T>
__global__ void image_to_columns_kernel(ConvGeometry g, const T* image, T* columns) {
  const std::int64_t width = g.channels * g.kh * g.kw;
  STEPCAST_EACH(i, g.n * g.out_h * g.out_w * width) {
    std::int64_t rest = i % width;
    const std::int64_t position = i / width, c = rest % g.per_group;
    rest /= g.per_group;
    const std::int64_t kx = rest % g.kw, ky = rest / g.kw % g.kh, group = rest / g.kw / g.kh;
    const std::int64_t ox = position % g.out_w, oy = position / g.out_w % g.out_h,
                       n = position / g.out_w / g.out_h;
    const std::int64_t y = oy * g.stride + ky - g.pad_h, x = ox * g.stride + kx - g.pad_w;
    if (y >= 0 && y < g.h && x >= 0 && x < g.w)
      columns[i] = image[((n * g.h + y) * g.w + x) * g.channels + group * g.per_group + c];
    else
      store(columns + i, 0.0f);
  }
}
/// Each pixel gathers from the columns that read it, so nothing is added by two threads.
template <class T>
__global__ void columns_to_image_kernel(ConvGeometry g, const T* columns, T* image) {
  const std::int64_t width = g.channels * g.kh * g.kw;
  STEPCAST_EACH(i, g.n * g.h * g.w * g.channels) {
    const std::int64_t channel = i % g.channels, x = i / g.channels % g.w,
                       y = i / g.channels / g.w % g.h, n = i / g.channels / g.w / g.h;
    const std::int64_t group = channel / g.per_group, c = channel % g.per_group;
    float sum = 0.0f;
    for (std::int64_t ky = 0; ky < g.kh; ++ky)
      for (std::int64_t kx = 0; kx < g.kw; ++kx) {
        const std::int64_t top = y + g.pad_h - ky, left = x + g.pad_w - kx;
        if (top < 0 || left < 0 || top % g.stride != 0 || left % g.stride != 0 ||
            top / g.stride >= g.out_h || left / g.stride >= g.out_w)
          continue;
        const std::int64_t position = (n * g.out_h + top / g.stride) * g.out_w + left / g.stride;
        sum += value_of(
            columns[position * width + ((group * g.kh + ky) * g.kw + kx) * g.per_group + c]);
      }
    store(image + i, sum);
  }
}

/// Window 3, stride 2, padding 1; indices are element numbers in x.
template <class T>
__global__ void max_pool_kernel(const T* x, T* y, int* indices, std::int64_t n, std::int64_t h,
                                std::int64_t w, std::int64_t channels) {
  const std::int64_t out_h = (h + 1) / 2, out_w = (w + 1) / 2;
  STEPCAST_EACH(i, n * out_h * out_w * channels) {
    const std::int64_t c = i % channels, ox = i / channels % out_w,
                       oy = i / channels / out_w % out_h, image = i / channels / out_w / out_h;
    float best = 0.0f;
    std::int64_t at = -1;
    for (std::int64_t iy = 2 * oy - 1; iy < 2 * oy + 2; ++iy)
      for (std::int64_t ix = 2 * ox - 1; ix < 2 * ox + 2; ++ix) {
        if (iy < 0 || ix < 0 || iy >= h || ix >= w) continue;
        const std::int64_t in = ((image * h + iy) * w + ix) * channels + c;
        if (at < 0 || value_of(x[in]) > best) {
          best = value_of(x[in]);
          at = in;
        }
      }
    store(y + i, best);
    indices[i] = static_cast<int>(at);
  }
}
template <class T>
__global__ void max_pool_back_kernel(const T* dy, const int* indices, T* dx, std::int64_t n,
                                     std::int64_t h, std::int64_t w, std::int64_t channels) {
  const std::int64_t out_h = (h + 1) / 2, out_w = (w + 1) / 2;
  STEPCAST_EACH(i, n * h * w * channels) {
    const std::int64_t c = i % channels, x = i / channels % w, y = i / channels / w % h,
                       image = i / channels / w / h;
    float sum = 0.0f;
    for (std::int64_t oy = y / 2; oy <= (y + 1) / 2 && oy < out_h; ++oy)
      for (std::int64_t ox = x / 2; ox <= (x + 1) / 2 && ox < out_w; ++ox) {
        const std::int64_t out = ((image * out_h + oy) * out_w + ox) * channels + c;
        if (indices[out] == i) sum += value_of(dy[out]);
      }
    store(dx + i, sum);
  }
}
template <class T>
__global__ void mean_pool_kernel(const T* x, T* y, std::int64_t n, std::int64_t positions,
                                 std::int64_t channels) {
  STEPCAST_EACH(i, n * channels) {
    const std::int64_t image = i / channels, c = i % channels;
    float sum = 0.0f;
    for (std::int64_t p = 0; p < positions; ++p)
      sum += value_of(x[(image * positions + p) * channels + c]);
    store(y + i, sum / static_cast<float>(positions));
  }
}
template <class T>
__global__ void mean_pool_back_kernel(const T* dy, T* dx, std::int64_t n, std::int64_t positions,
                                      std::int64_t channels) {
  STEPCAST_EACH(i, n * positions * channels)
  store(dx + i, value_of(dy[i / channels / positions * channels + i % channels]) /
                    static_cast<float>(positions));
}

inline constexpr std::int64_t kBatchNormChunk =
    1024;  // rows that a block of batch norm's sums covers
/// to[c] += sum over rows of (x - center)^power; center is a sum that `inverse` turns into the
/// mean. Chunks add with atomics.
template <class T>
__global__ void __launch_bounds__(kThreads)
    channel_moment_kernel(const T* x, const float* center, float* to, float inverse,
                          std::int64_t rows, std::int64_t channels) {
  __shared__ float parts[8][33];
  const unsigned lane = threadIdx.x % 32, part = threadIdx.x / 32;
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * 32 + lane,
                     first = blockIdx.y * kBatchNormChunk;
  const std::int64_t last = first + kBatchNormChunk < rows ? first + kBatchNormChunk : rows;
  float sum = 0.0f;
  if (c < channels) {
    const float mean = center != nullptr ? center[c] * inverse : 0.0f;
    for (std::int64_t row = first + part; row < last; row += 8) {
      const float d = value_of(x[row * channels + c]) - mean;
      sum += center != nullptr ? d * d : d;
    }
  }
  parts[part][lane] = sum;
  __syncthreads();
  if (part != 0 || c >= channels) return;
  for (int i = 1; i < 8; ++i) sum += parts[i][lane];
  atomicAdd(to + c, sum);
}
/// Sums become mean and 1 / standard deviation.
__global__ void channel_statistics_kernel(float* mean, float* rstd, float inverse, float epsilon,
                                          std::int64_t channels) {
  STEPCAST_EACH(c, channels) {
    mean[c] *= inverse;
    rstd[c] = rsqrtf(rstd[c] * inverse + epsilon);
  }
}
template <class T>
__global__ void batch_norm_kernel(const T* x, const T* weight, const T* bias, const float* mean,
                                  const float* rstd, T* y, std::int64_t elements,
                                  std::int64_t channels) {
  STEPCAST_EACH(i, elements) {
    const std::int64_t c = i % channels;
    store(y + i, (value_of(x[i]) - mean[c]) * rstd[c] * value_of(weight[c]) + value_of(bias[c]));
  }
}
/// sums[c] += sum of dy, sums[channels + c] += sum of dy xhat.
template <class T>
__global__ void __launch_bounds__(kThreads)
    batch_norm_sums_kernel(const T* x, const T* dy, const float* mean, const float* rstd,
                           float* sums, std::int64_t rows, std::int64_t channels) {
  __shared__ float parts[8][33], parts_x[8][33];
  const unsigned lane = threadIdx.x % 32, part = threadIdx.x / 32;
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * 32 + lane,
                     first = blockIdx.y * kBatchNormChunk;
  const std::int64_t last = first + kBatchNormChunk < rows ? first + kBatchNormChunk : rows;
  float sum = 0.0f, sum_x = 0.0f;
  if (c < channels)
    for (std::int64_t row = first + part; row < last; row += 8) {
      const float d = value_of(dy[row * channels + c]);
      sum += d;
      sum_x += d * (value_of(x[row * channels + c]) - mean[c]) * rstd[c];
    }
  parts[part][lane] = sum;
  parts_x[part][lane] = sum_x;
  __syncthreads();
  if (part != 0 || c >= channels) return;
  for (int i = 1; i < 8; ++i) {
    sum += parts[i][lane];
    sum_x += parts_x[i][lane];
  }
  atomicAdd(sums + c, sum);
  atomicAdd(sums + channels + c, sum_x);
}
/// dx = weight rstd (dy - mean(dy) - xhat mean(dy xhat)).
template <class T>
__global__ void batch_norm_back_kernel(const T* x, const T* weight, const T* dy, const float* mean,
                                       const float* rstd, const float* sums, T* dx, float inverse,
                                       std::int64_t elements, std::int64_t channels) {
  STEPCAST_EACH(i, elements) {
    const std::int64_t c = i % channels;
    const float xhat = (value_of(x[i]) - mean[c]) * rstd[c];
    store(dx + i, value_of(weight[c]) * rstd[c] *
                      (value_of(dy[i]) - inverse * (sums[c] + xhat * sums[channels + c])));
  }
}
__global__ void clear_kernel(float* x, std::int64_t elements) {
  STEPCAST_EACH(i, elements) x[i] = 0.0f;
}
__global__ void add_sums_kernel(const float* sums, float* dweight, float* dbias,
                                std::int64_t channels) {
  STEPCAST_EACH(c, channels) {
    dbias[c] += sums[c];
    dweight[c] += sums[channels + c];
  }
}
}  // namespace stepcast::runtime
