#include "tests/runtime/kernels/kernel_test.hpp"

using namespace stepcast;
using namespace stepcast::runtime;

TEST_CASE("norms agree with plain loops forward and backward in both precisions", "[kernels]") {
  const std::int64_t rows = 5, width = 300;  // not a multiple of the block
  for (const NormKind kind : {NormKind::layernorm, NormKind::rmsnorm})
    for (const Precision precision : kPrecisions)
      under_each_schedule([&] {
        const bool is_layer = kind == NormKind::layernorm;
        Operand x(random_values(rows * width, 1), precision),
            weight(random_values(width, 2), precision), bias(random_values(width, 3), precision);
        Operand dy(random_values(rows * width, 4), precision);
        Operand y = zeros(rows * width, precision), dx = zeros(rows * width, precision),
                mean = zeros(rows), rstd = zeros(rows);
        Operand dweight(random_values(width, 5)), dbias(random_values(width, 6));
        std::vector<double> ey, edx, edw, edb;
        for (std::int64_t i = 0; i < width; ++i) edw.push_back(dweight[i]), edb.push_back(dbias[i]);
        for (std::int64_t r = 0; r < rows; ++r) {
          double m = 0, v = 0, g = 0, gx = 0;
          for (std::int64_t i = 0; i < width; ++i) m += is_layer ? x[r * width + i] / width : 0;
          for (std::int64_t i = 0; i < width; ++i)
            v += (x[r * width + i] - m) * (x[r * width + i] - m) / width;
          const double s = 1 / std::sqrt(v + 1e-5);
          for (std::int64_t i = 0; i < width; ++i) {
            const double xhat = (x[r * width + i] - m) * s, d = dy[r * width + i];
            ey.push_back(xhat * weight[i] + (is_layer ? bias[i] : 0));
            edw[static_cast<std::size_t>(i)] += d * xhat;
            edb[static_cast<std::size_t>(i)] += is_layer ? d : 0;
            g += is_layer ? d * weight[i] / width : 0;
            gx += d * weight[i] * xhat / width;
          }
          for (std::int64_t i = 0; i < width; ++i)
            edx.push_back(s *
                          (dy[r * width + i] * weight[i] - g - (x[r * width + i] - m) * s * gx));
        }
        const NormCall call{kind,        rows,           width,       x.view(), weight.view(),
                            bias.view(), mean.view(),    rstd.view(), y.view(), dy.view(),
                            dx.view(),   dweight.view(), dbias.view()};
        launch::norm_forward(nullptr, call);
        launch::norm_backward(nullptr, call);
        require_close(y.read(), ey, tolerance_of(precision), 1e-4);
        require_close(dx.read(), edx, tolerance_of(precision), 1e-4);
        require_close(dweight.read(), edw, 1e-4, 1e-4);
        require_close(dbias.read(), edb, 1e-4, 1e-4);
      });
}
