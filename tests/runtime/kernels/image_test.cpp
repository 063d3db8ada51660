#include "tests/runtime/kernels/kernel_test.hpp"

using namespace stepcast;
using namespace stepcast::runtime;

TEST_CASE("columns of an image times filters are its convolution with stride and groups",
          "[kernels]") {
  for (const ConvShape& shape :
       {ConvShape{2, 4, 7, 6, 6, 3, 2, 2}, ConvShape{1, 3, 5, 5, 4, 1, 1, 1},
        ConvShape{1, 2, 9, 9, 2, 7, 2, 1}}) {
    const std::int64_t out_h = (shape.h + shape.stride - 1) / shape.stride,
                       out_w = (shape.w + shape.stride - 1) / shape.stride,
                       pad = (shape.kernel - 1) / 2;
    const std::int64_t in_group = shape.c_in / shape.groups,
                       width = shape.c_in * shape.kernel * shape.kernel;
    Operand x(random_values(shape.n * shape.h * shape.w * shape.c_in, 1));
    Operand columns = zeros(shape.n * out_h * out_w * width);
    launch::image_to_columns(nullptr, shape, x.view(), columns.view());
    for (std::int64_t n = 0; n < shape.n; ++n)
      for (std::int64_t oy = 0; oy < out_h; ++oy)
        for (std::int64_t ox = 0; ox < out_w; ++ox)
          for (std::int64_t g = 0; g < shape.groups; ++g)
            for (std::int64_t ky = 0; ky < shape.kernel; ++ky)
              for (std::int64_t kx = 0; kx < shape.kernel; ++kx)
                for (std::int64_t c = 0; c < in_group; ++c) {
                  const std::int64_t y = oy * shape.stride + ky - pad,
                                     xx = ox * shape.stride + kx - pad;
                  const bool is_inside = y >= 0 && y < shape.h && xx >= 0 && xx < shape.w;
                  const double expected =
                      is_inside
                          ? x[((n * shape.h + y) * shape.w + xx) * shape.c_in + g * in_group + c]
                          : 0.0;
                  const std::int64_t at = ((n * out_h + oy) * out_w + ox) * width +
                                          ((g * shape.kernel + ky) * shape.kernel + kx) * in_group +
                                          c;
                  if (columns[at] != expected)
                    FAIL("column " << at << " is " << columns[at] << ", expected " << expected);
                }
    // columns_to_image is the transposed map: <columns(x), c> = <x, image(c)> for every c.
    Operand c(random_values(shape.n * out_h * out_w * width, 2)),
        image = zeros(shape.n * shape.h * shape.w * shape.c_in);
    launch::columns_to_image(nullptr, shape, c.view(), image.view());
    double left = 0, right = 0;
    for (std::int64_t i = 0; i < shape.n * out_h * out_w * width; ++i) left += columns[i] * c[i];
    for (std::int64_t i = 0; i < shape.n * shape.h * shape.w * shape.c_in; ++i)
      right += x[i] * image[i];
    REQUIRE(left == Approx(right).epsilon(1e-5));
  }
}
TEST_CASE("batch norm over rows of several chunks agrees with plain loops", "[kernels]") {
  const std::int64_t rows = 1500, channels = 3;
  Operand x(random_values(rows * channels, 1)), weight(random_values(channels, 2)),
      bias(random_values(channels, 3)), dy(random_values(rows * channels, 4));
  std::vector<double> ey(static_cast<std::size_t>(rows * channels)), edx = ey, edw, edb;
  for (std::int64_t c = 0; c < channels; ++c) {
    double m = 0, v = 0, s = 0, sx = 0;
    for (std::int64_t r = 0; r < rows; ++r) m += x[r * channels + c] / rows;
    for (std::int64_t r = 0; r < rows; ++r)
      v += (x[r * channels + c] - m) * (x[r * channels + c] - m) / rows;
    const double inverse = 1 / std::sqrt(v + 1e-5);
    for (std::int64_t r = 0; r < rows; ++r)
      s += dy[r * channels + c], sx += dy[r * channels + c] * (x[r * channels + c] - m) * inverse;
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto at = static_cast<std::size_t>(r * channels + c);
      const double xhat = (x[r * channels + c] - m) * inverse;
      ey[at] = xhat * weight[c] + bias[c];
      edx[at] = weight[c] * inverse * (dy[r * channels + c] - s / rows - xhat * sx / rows);
    }
    edw.push_back(sx + 1);
    edb.push_back(s + 1);
  }
  under_each_schedule([&] {
    Operand y = zeros(rows * channels), dx = zeros(rows * channels), mean = zeros(channels),
            rstd = zeros(channels), sums = zeros(2 * channels);
    Operand dweight(std::vector<float>(3, 1.0f)), dbias(std::vector<float>(3, 1.0f));
    const BatchNormCall call{rows,        channels,       1e-5f,       x.view(),    weight.view(),
                             bias.view(), y.view(),       mean.view(), rstd.view(), dy.view(),
                             dx.view(),   dweight.view(), dbias.view()};
    launch::batch_norm_forward(nullptr, call);
    launch::batch_norm_backward(nullptr, call, sums.view());
    require_close(y.read(), ey, 1e-4, 1e-4);
    require_close(dx.read(), edx, 1e-4, 1e-4);
    require_close(dweight.read(), edw, 1e-4, 1e-3);
    require_close(dbias.read(), edb, 1e-4, 1e-3);
  });
}
TEST_CASE("max pooling routes each gradient to the element that won", "[kernels]") {
  // 3 x 3 image of 1..9: windows (stride 2, padding 1) see {1,2,4,5}, {2,3,5,6}, {4,5,7,8},
  // {5,6,8,9} -> 5, 6, 8, 9.
  std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8, 9}, y(4), dy{1, 2, 3, 4}, dx(9, 5.0f);
  std::vector<int> indices(4);
  const PoolCall call{false,
                      1,
                      3,
                      3,
                      1,
                      View{x.data()},
                      View{y.data()},
                      View{indices.data()},
                      View{dy.data()},
                      View{dx.data()}};
  launch::pool_forward(nullptr, call);
  launch::pool_backward(nullptr, call);
  REQUIRE(y == std::vector<float>{5, 6, 8, 9});
  REQUIRE(dx == std::vector<float>{0, 0, 0, 0, 1, 2, 0, 3, 4});
}
TEST_CASE("global average pooling spreads its gradient evenly", "[kernels]") {
  std::vector<float> x{1, 10, 2, 20, 3, 30, 6, 40}, y(2), dy{4, 8}, dx(8);
  const PoolCall call{
      true, 1, 2, 2, 2, View{x.data()}, View{y.data()}, {}, View{dy.data()}, View{dx.data()}};
  launch::pool_forward(nullptr, call);
  launch::pool_backward(nullptr, call);
  REQUIRE(y == std::vector<float>{3, 25});
  REQUIRE(dx == std::vector<float>{1, 2, 1, 2, 1, 2, 1, 2});
}
