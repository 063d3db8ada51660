#include "runtime/model/conv_stage.hpp"

#include <cmath>

namespace stepcast::runtime {
ConvStage new_conv_stage(Device& device, Parameters& parameters, std::int64_t images,
                         const ConvLayer& l, const ConvNode& at, Precision p) {
  ConvStage s;
  s.layer = l;
  s.at = at;
  s.shape = {images, l.c_in, l.h, l.w, l.c_out, l.kernel, l.stride, l.groups, l.kernel_w};
  s.out = extent_of(l);
  s.rows = images * s.out.h * s.out.w;
  const std::int64_t window =
      l.kernel * (l.kernel_w > 0 ? l.kernel_w : l.kernel) * (l.c_in / l.groups);
  s.filter = parameters.add({.name = l.name + ".filter",
                             .rows = l.c_out,
                             .columns = window,
                             .deviation = std::sqrt(2.0 / static_cast<double>(window))});
  if (l.batch_norm)
    s.weight = parameters.add({.name = l.name + ".weight", .columns = l.c_out, .constant = 1});
  s.bias = parameters.add({.name = l.name + ".bias", .columns = l.c_out});
  s.raw = Buffer(device, s.elements(), p);
  s.y = Buffer(device, s.elements(), p);
  s.mean = Buffer(device, l.c_out, Precision::fp32);
  s.rstd = Buffer(device, l.c_out, Precision::fp32);
  if (l.pool > 1) {
    s.pooled = Buffer(device, s.pooled_elements(), p);
    s.indices = Buffer(device, Bytes(s.pooled_elements() * 4));
  }
  s.gradient = Buffer(device, s.pooled_elements(), p);
  return s;
}

ConvCall convolution(const ConvStage& s, const Parameters& parameters, View x) {
  return {.shape = s.shape,
          .x = x,
          .filter = parameters.weight(s.filter),
          .y = s.raw.view(),
          .dfilter = parameters.gradient(s.filter)};
}
BatchNormCall batch_norm(const ConvStage& s, const Parameters& parameters) {
  return {.rows = s.rows,
          .channels = s.layer.c_out,
          .x = s.raw.view(),
          .weight = parameters.weight(s.weight),
          .bias = parameters.weight(s.bias),
          .y = s.y.view(),
          .mean = s.mean.view(),
          .rstd = s.rstd.view(),
          .dweight = parameters.gradient(s.weight),
          .dbias = parameters.gradient(s.bias)};
}
PoolCall pool(const ConvStage& s) {
  return {.n = s.shape.n,
          .h = s.out.h,
          .w = s.out.w,
          .channels = s.layer.c_out,
          .x = s.y.view(),
          .y = s.pooled.view(),
          .indices = s.indices.view(),
          .dy = s.gradient.view()};
}
}  // namespace stepcast::runtime
