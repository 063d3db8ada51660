#pragma once
#include "runtime/layers/layer_context.hpp"

namespace stepcast::runtime {
/// Pairwise dot products between a sample's vectors, as the simulator's four pieces of DLRM's
/// interaction. Every rearrangement is a gather by a table of places that is made once.
///
///   pool (floats)  [ bottom (B, d) | bags (tables + padding, B, d) | square (B, f, f) ]
///   join           z (B, f, d) = rows of the pool: sample b's bottom vector, then its bags
///   dots           square = z z^T, a product per sample
///   triangle       y (B, d + f (f-1) / 2): the bottom vector, then the pairs i > j
///
/// Backward: lower triangle L of the pairs' gradients (zeros elsewhere), dz = L z + L^T z, then dz
/// back to the pool's places. Fused kernels exist (Kernels::interaction_forward); apart, each piece
/// is one op of the simulator.
class Interaction {
 public:
  struct Shape {
    std::int64_t B = 0, tables = 0, padded_tables = 0, d = 0;
    std::int64_t f() const { return tables + 1; }
    std::int64_t pairs() const { return f() * (f() - 1) / 2; }
    std::int64_t width() const { return d + pairs(); }  // of y
    std::int64_t pool_rows() const { return B * (1 + padded_tables); }
  };
  Interaction(Device& device, Stream& setup, const Shape& shape, Precision precision);

  View bottom() const { return pool_.view(); }                   // (B, d), the bottom MLP's output
  View bags() const { return pool_.view(shape_.B * shape_.d); }  // (padded tables, B, d)
  View output() const { return y_.view(); }                      // (B, width)
  View dbottom() const { return dpool_.view(); }
  View dbags() const { return dpool_.view(shape_.B * shape_.d); }
  View doutput() const { return dy_.view(); }

  void forward(const LayerContext& context) const;
  void backward(const LayerContext& context) const;

 private:
  void gather(const LayerContext& context, const Buffer& places, View from, View to,
              std::int64_t count, std::int64_t width, std::int64_t rows) const;
  Shape shape_;
  Buffer pool_, z_, y_;
  Buffer dpool_, dz_, dy_, lower_, dbottom_direct_;
  Buffer join_, triangle_, lower_places_, direct_places_, back_;  // int32; -1: a zero
};
}  // namespace stepcast::runtime
