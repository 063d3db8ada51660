#include "tests/runtime/device/on_device.hpp"

namespace stepcast::runtime::test {
namespace {
using Doubles = std::vector<double>;
std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

struct Reference {
  Doubles y, dx, dfilter;
  Reference(const ConvShape& s, const std::vector<float>& x, const std::vector<float>& w,
            const std::vector<float>& dy) {
    const std::int64_t oh = (s.h + s.stride - 1) / s.stride, ow = (s.w + s.stride - 1) / s.stride;
    const std::int64_t in = s.c_in / s.groups, out = s.c_out / s.groups, pad = (s.kernel - 1) / 2;
    y.assign(at(s.n * oh * ow * s.c_out), 0.0), dx.assign(x.size(), 0.0),
        dfilter.assign(w.size(), 0.0);
    for (std::int64_t n = 0; n < s.n; ++n)
      for (std::int64_t oy = 0; oy < oh; ++oy)
        for (std::int64_t ox = 0; ox < ow; ++ox)
          for (std::int64_t o = 0; o < s.c_out; ++o)
            for (std::int64_t ky = 0; ky < s.kernel; ++ky)
              for (std::int64_t kx = 0; kx < s.kernel; ++kx)
                for (std::int64_t i = 0; i < in; ++i) {
                  const std::int64_t iy = oy * s.stride + ky - pad, ix = ox * s.stride + kx - pad;
                  if (iy < 0 || iy >= s.h || ix < 0 || ix >= s.w) continue;
                  const std::size_t xi =
                      at(((n * s.h + iy) * s.w + ix) * s.c_in + o / out * in + i);
                  const std::size_t wi = at(((o * s.kernel + ky) * s.kernel + kx) * in + i),
                                    yi = at(((n * oh + oy) * ow + ox) * s.c_out + o);
                  y[yi] += static_cast<double>(x[xi]) * static_cast<double>(w[wi]);
                  dx[xi] += static_cast<double>(dy[yi]) * static_cast<double>(w[wi]);
                  dfilter[wi] += static_cast<double>(dy[yi]) * static_cast<double>(x[xi]);
                }
  }
};
}  // namespace

TEST_CASE("convolutions and both their gradients match seven nested loops", "[runtime][kernels]") {
  for (const ConvShape& s :
       {ConvShape{.n = 2, .c_in = 8, .h = 9, .w = 7, .c_out = 16, .kernel = 3, .stride = 1},
        ConvShape{.n = 2, .c_in = 8, .h = 8, .w = 8, .c_out = 16, .kernel = 3, .stride = 2},
        ConvShape{.n = 1, .c_in = 3, .h = 16, .w = 16, .c_out = 8, .kernel = 7, .stride = 2},
        ConvShape{.n = 2, .c_in = 16, .h = 6, .w = 6, .c_out = 24, .kernel = 1, .stride = 2},
        ConvShape{.n = 1,
        .c_in = 8,
        .h = 6,
        .w = 6,
        .c_out = 8,
        .kernel = 3,
        .stride = 1,
        .groups = 2}}) {
    OnDevice on;
    const std::int64_t oh = (s.h + s.stride - 1) / s.stride, ow = (s.w + s.stride - 1) / s.stride;
    const std::int64_t xs = s.n * s.h * s.w * s.c_in, ys = s.n * oh * ow * s.c_out,
                       ws = s.c_out * s.kernel * s.kernel * s.c_in / s.groups;
    const auto x = normal_numbers(xs, 1), w = normal_numbers(ws, 2), dy = normal_numbers(ys, 3);
    ConvCall call{.shape = s,
                  .x = on.put(x),
                  .filter = on.put(w),
                  .y = on.zeros(ys),
                  .dy = on.put(dy),
                  .dx = on.zeros(xs),
                  .dfilter = on.zeros(ws)};
    on.kernels().conv_forward(on.stream(), call);
    on.kernels().conv_backward_data(on.stream(), call);
    on.kernels().conv_backward_weight(on.stream(), call);
    const Reference reference(s, x, w, dy);
    INFO("kernel " << s.kernel << " stride " << s.stride << " groups " << s.groups);
    REQUIRE(relative_error(on.get(call.y, ys), reference.y) < 2e-5);
    REQUIRE(relative_error(on.get(call.dx, xs), reference.dx) < 2e-5);
    REQUIRE(relative_error(on.get(call.dfilter, ws), reference.dfilter) < 2e-5);
    on.kernels().conv_backward_weight(on.stream(), call);  // adds
    for (double& value : const_cast<Doubles&>(reference.dfilter)) value *= 2;
    REQUIRE(relative_error(on.get(call.dfilter, ws), reference.dfilter) < 2e-5);
  }
}
}  // namespace stepcast::runtime::test
