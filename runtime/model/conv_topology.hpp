#pragma once
#include <vector>

#include "sim/core/result.hpp"
#include "sim/workload/model_spec.hpp"

namespace stepcast::runtime {
/// Where a convolution of the list stands in the network. Tensors are numbered by the layer that
/// makes them.
struct ConvNode {
  static constexpr int kImage = -1, kNone = -2;
  int input = kImage;  // the tensor that it reads
  int skip = kNone;    // the tensor that joins its output behind the batch norm
};
/// A CnnSpec is a list; its residual blocks are known by their names, as its reader gives them:
///
///   x ---- P_a -- P_b -- P_c --(+)--     P_c.residual_add; the other summand is P_shortcut's
///   output
///    \---- P_shortcut -------/           where there is one, else x
///
/// Everything else is a chain. Shapes that do not fit together (Inception's branches) are problems,
/// as is what the runtime has no kernels for. Pure.
std::vector<ConvNode> conv_topology(const CnnSpec& model, Problems& problems);

/// Height and width of a layer's output, before and after the pooling that may follow.
struct ConvExtent {
  std::int64_t h = 0, w = 0, pooled_h = 0, pooled_w = 0;
};
ConvExtent extent_of(const ConvLayer& layer);
}  // namespace stepcast::runtime
