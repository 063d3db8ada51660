#pragma once
#include "runtime/device/kernels.hpp"
#include "runtime/model/conv_topology.hpp"
#include "runtime/model/parameters.hpp"

namespace stepcast::runtime {
/// One convolution with what follows it, its place in the arena and what it keeps for the backward.
/// B images, (h, w) its output, CO output channels; everything NHWC.
struct ConvStage {
  ConvLayer layer;
  ConvNode at;
  ConvShape shape;
  ConvExtent out;
  std::int64_t rows = 0;  // B * h * w
  std::size_t filter = 0, weight = 0, bias = 0;
  Buffer raw, y, mean, rstd;  // (B, h, w, CO) convolution, result; (CO) statistics
  Buffer pooled, indices;     // (B, pooled_h, pooled_w, CO)
  Buffer gradient;            // of what the next layers read
  View output() const { return layer.pool > 1 ? pooled.view() : y.view(); }
  std::int64_t elements() const { return rows * layer.c_out; }
  std::int64_t pooled_elements() const {
    return shape.n * out.pooled_h * out.pooled_w * layer.c_out;
  }
};
/// Adds filter, weight (with a batch norm) and bias to the arena and allocates what the stage
/// keeps.
ConvStage new_conv_stage(Device& device, Parameters& parameters, std::int64_t images,
                         const ConvLayer& layer, const ConvNode& at, Precision precision);

/// The stage's kernel calls, complete for the forward. A backward adds the gradients that it has in
/// hand: dy and dx, for pooling dx alone.
ConvCall convolution(const ConvStage& stage, const Parameters& parameters, View x);
BatchNormCall batch_norm(const ConvStage& stage, const Parameters& parameters);
PoolCall pool(const ConvStage& stage);
}  // namespace stepcast::runtime
