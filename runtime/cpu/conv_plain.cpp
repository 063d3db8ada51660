#include <cstring>
#include <vector>

#include "runtime/cpu/cpu_kernels.hpp"
#include "runtime/cpu/cpu_stream.hpp"
#include "runtime/cpu/sgemm.hpp"

/// Convolution as a product over unrolled windows ("im2col"), one image at a time; used where
/// oneDNN is not built in. NHWC images, filters (c_out, kernel, kernel, c_in / groups).
namespace stepcast::runtime {
namespace {
struct Geometry {
  std::int64_t kh, kw, stride, pad_h, pad_w, out_h, out_w, in_group, out_group, groups;
};
Geometry geometry_of(const ConvShape& s) {
  const std::int64_t stride = std::max<std::int64_t>(1, s.stride),
                     groups = std::max<std::int64_t>(1, s.groups);
  const std::int64_t kw = s.kernel_w > 0 ? s.kernel_w : s.kernel;
  return {s.kernel,
          kw,
          stride,
          (s.kernel - 1) / 2,
          (kw - 1) / 2,
          (s.h + stride - 1) / stride,
          (s.w + stride - 1) / stride,
          s.c_in / groups,
          s.c_out / groups,
          groups};
}
/// Calls each(window element, image element or -1) for one output position and group.
template <class Each>
void for_window(const ConvShape& s, const Geometry& g, std::int64_t oy, std::int64_t ox,
                std::int64_t group, Each each) {
  std::int64_t at = 0;
  for (std::int64_t ky = 0; ky < g.kh; ++ky)
    for (std::int64_t kx = 0; kx < g.kw; ++kx, at += g.in_group) {
      const std::int64_t y = oy * g.stride + ky - g.pad_h, x = ox * g.stride + kx - g.pad_w;
      const bool is_inside = y >= 0 && y < s.h && x >= 0 && x < s.w;
      each(at, is_inside ? (y * s.w + x) * s.c_in + group * g.in_group : -1);
    }
}
std::vector<float> unrolled(const ConvShape& s, const Geometry& g, const float* image,
                            std::int64_t group) {
  const std::int64_t window = g.kh * g.kw * g.in_group;
  std::vector<float> columns(static_cast<std::size_t>(g.out_h * g.out_w * window));
  for (std::int64_t oy = 0; oy < g.out_h; ++oy)
    for (std::int64_t ox = 0; ox < g.out_w; ++ox) {
      float* row = columns.data() + (oy * g.out_w + ox) * window;
      for_window(s, g, oy, ox, group, [&](std::int64_t to, std::int64_t from) {
        if (from >= 0)
          std::memcpy(row + to, image + from, static_cast<std::size_t>(g.in_group) * sizeof(float));
        else
          std::memset(row + to, 0, static_cast<std::size_t>(g.in_group) * sizeof(float));
      });
    }
  return columns;
}
/// Runs each(image index, group, geometry) over the batch.
template <class Each>
void for_images(const ConvShape& s, Each each) {
  const Geometry g = geometry_of(s);
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t group = 0; group < g.groups; ++group) each(n, group, g);
}
}  // namespace

void CpuKernels::conv_forward(Stream& stream, const ConvCall& c) {
  cpu(stream).enqueue([c] {
    const ConvShape& s = c.shape;
    for_images(s, [&](std::int64_t n, std::int64_t group, const Geometry& g) {
      const std::int64_t positions = g.out_h * g.out_w, window = g.kh * g.kw * g.in_group;
      const std::vector<float> columns = unrolled(s, g, f32(c.x) + n * s.h * s.w * s.c_in, group);
      sgemm(false, true, positions, g.out_group, window, 1, columns.data(), window,
            f32(c.filter) + group * g.out_group * window, window, 0,
            f32(c.y) + n * positions * s.c_out + group * g.out_group, s.c_out);
    });
  });
}
void CpuKernels::conv_backward_data(Stream& stream, const ConvCall& c) {
  cpu(stream).enqueue([c] {
    const ConvShape& s = c.shape;
    std::memset(c.dx.data, 0, static_cast<std::size_t>(s.n * s.h * s.w * s.c_in) * sizeof(float));
    for_images(s, [&](std::int64_t n, std::int64_t group, const Geometry& g) {
      const std::int64_t positions = g.out_h * g.out_w, window = g.kh * g.kw * g.in_group;
      std::vector<float> columns(static_cast<std::size_t>(positions * window));
      sgemm(false, false, positions, window, g.out_group, 1,
            f32(c.dy) + n * positions * s.c_out + group * g.out_group, s.c_out,
            f32(c.filter) + group * g.out_group * window, window, 0, columns.data(), window);
      float* image = f32(c.dx) + n * s.h * s.w * s.c_in;
      for (std::int64_t p = 0; p < positions; ++p)
        for_window(s, g, p / g.out_w, p % g.out_w, group, [&](std::int64_t from, std::int64_t to) {
          for (std::int64_t i = 0; to >= 0 && i < g.in_group; ++i)
            image[to + i] += columns[static_cast<std::size_t>(p * window + from + i)];
        });
    });
  });
}
void CpuKernels::conv_backward_weight(Stream& stream, const ConvCall& c) {
  cpu(stream).enqueue([c] {
    const ConvShape& s = c.shape;
    for_images(s, [&](std::int64_t n, std::int64_t group, const Geometry& g) {
      const std::int64_t positions = g.out_h * g.out_w, window = g.kh * g.kw * g.in_group;
      const std::vector<float> columns = unrolled(s, g, f32(c.x) + n * s.h * s.w * s.c_in, group);
      sgemm(true, false, g.out_group, window, positions, 1,
            f32(c.dy) + n * positions * s.c_out + group * g.out_group, s.c_out, columns.data(),
            window, 1, f32(c.dfilter) + group * g.out_group * window, window);
    });
  });
}
}  // namespace stepcast::runtime
