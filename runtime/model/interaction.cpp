#include "runtime/model/interaction.hpp"

#include <vector>

#include "sim/timeline/op_names.hpp"

namespace stepcast::runtime {
namespace {
using Places = std::vector<std::int32_t>;
Buffer on_device(Device& device, Stream& stream, const Places& places) {
  const Bytes bytes(static_cast<std::int64_t>(places.size()) * 4);
  Buffer here(device, bytes);
  device.copy(stream, here.data(), places.data(), bytes);
  stream.synchronise();  // `places` goes
  return here;
}
std::int32_t narrow(std::int64_t place) { return static_cast<std::int32_t>(place); }

/// Row of the pool that holds vector `v` of sample `b`.
std::int64_t pool_row(const Interaction::Shape& s, std::int64_t b, std::int64_t v) {
  return v * s.B + b;
}
Places join_places(const Interaction::Shape& s) {
  Places places;
  for (std::int64_t b = 0; b < s.B; ++b)
    for (std::int64_t v = 0; v < s.f(); ++v) places.push_back(narrow(pool_row(s, b, v)));
  return places;
}
/// The inverse: row of z of each row of the pool, none for padding.
Places back_places(const Interaction::Shape& s) {
  Places places;
  for (std::int64_t v = 0; v <= s.padded_tables; ++v)
    for (std::int64_t b = 0; b < s.B; ++b) places.push_back(v < s.f() ? narrow(b * s.f() + v) : -1);
  return places;
}
Places triangle_places(const Interaction::Shape& s) {
  const std::int64_t square = s.pool_rows() * s.d;
  Places places;
  for (std::int64_t b = 0; b < s.B; ++b) {
    for (std::int64_t i = 0; i < s.d; ++i) places.push_back(narrow(b * s.d + i));
    for (std::int64_t i = 1; i < s.f(); ++i)
      for (std::int64_t j = 0; j < i; ++j)
        places.push_back(narrow(square + (b * s.f() + i) * s.f() + j));
  }
  return places;
}
Places lower_places(const Interaction::Shape& s) {
  Places places;
  for (std::int64_t b = 0; b < s.B; ++b)
    for (std::int64_t i = 0; i < s.f(); ++i)
      for (std::int64_t j = 0; j < s.f(); ++j)
        places.push_back(j < i ? narrow(b * s.width() + s.d + i * (i - 1) / 2 + j) : -1);
  return places;
}
Places direct_places(const Interaction::Shape& s) {
  Places places;
  for (std::int64_t b = 0; b < s.B; ++b)
    for (std::int64_t i = 0; i < s.d; ++i) places.push_back(narrow(b * s.width() + i));
  return places;
}
}  // namespace

Interaction::Interaction(Device& device, Stream& setup, const Shape& shape, Precision p)
    : shape_(shape),
      pool_(device, shape.pool_rows() * shape.d + shape.B * shape.f() * shape.f(), p),
      z_(device, shape.B * shape.f() * shape.d, p),
      y_(device, shape.B * shape.width(), p),
      dpool_(device, shape.pool_rows() * shape.d, p),
      dz_(device, shape.B * shape.f() * shape.d, p),
      dy_(device, shape.B * shape.width(), p),
      lower_(device, shape.B * shape.f() * shape.f(), p),
      dbottom_direct_(device, shape.B * shape.d, p),
      join_(on_device(device, setup, join_places(shape))),
      triangle_(on_device(device, setup, triangle_places(shape))),
      lower_places_(on_device(device, setup, lower_places(shape))),
      direct_places_(on_device(device, setup, direct_places(shape))),
      back_(on_device(device, setup, back_places(shape))) {
  // Padding tables have no owner that would write their rows, and the join never reads them.
  device.fill_zero(setup, pool_.data(), pool_.bytes());
  setup.synchronise();
}

void Interaction::gather(const LayerContext& c, const Buffer& places, View from, View to,
                         std::int64_t count, std::int64_t width, std::int64_t rows) const {
  c.kernels().embedding_forward(c.stream, places.view(), from, to, count, width, 0, rows);
}

void Interaction::forward(const LayerContext& c) const {
  const std::int64_t f = shape_.f(), d = shape_.d, B = shape_.B;
  const std::int64_t square = shape_.pool_rows() * d;
  {
    const OpScope scope = c.op(op::interaction);
    gather(c, join_, pool_.view(), z_.view(), B * f, d, shape_.pool_rows());
  }
  {
    const OpScope scope = c.op(op::interaction);
    c.kernels().gemm(c.stream, {.a = z_.view(),
                                .b = z_.view(),
                                .c = pool_.view(square),
                                .m = f,
                                .n = f,
                                .k = d,
                                .batch = B,
                                .b_transposed = true,
                                .stride_a = f * d,
                                .stride_b = f * d,
                                .stride_c = f * f});
  }
  const OpScope scope = c.op(op::interaction);
  gather(c, triangle_, pool_.view(), y_.view(), B * shape_.width(), 1, square + B * f * f);
}

void Interaction::backward(const LayerContext& c) const {
  const std::int64_t f = shape_.f(), d = shape_.d, B = shape_.B;
  {
    const OpScope scope = c.op(op::interaction);
    gather(c, lower_places_, dy_.view(), lower_.view(), B * f * f, 1, B * shape_.width());
    gather(c, direct_places_, dy_.view(), dbottom_direct_.view(), B * d, 1, B * shape_.width());
  }
  for (const bool is_transposed : {false, true}) {
    const OpScope scope = c.op(op::interaction);
    c.kernels().gemm(c.stream, {.a = lower_.view(),
                                .b = z_.view(),
                                .c = dz_.view(),
                                .m = f,
                                .n = d,
                                .k = f,
                                .batch = B,
                                .a_transposed = is_transposed,
                                .accumulates = is_transposed,
                                .stride_a = f * f,
                                .stride_b = f * d,
                                .stride_c = f * d});
  }
  const OpScope scope = c.op(op::interaction);
  gather(c, back_, dz_.view(), dpool_.view(), shape_.pool_rows(), d, B * f);
  c.kernels().add(c.stream, dpool_.view(), dbottom_direct_.view(), {}, dpool_.view(), B, d);
}
}  // namespace stepcast::runtime
