#include "sim/profile/kernel_key.hpp"

#include <fmt/format.h>

#include "sim/core/assert.hpp"

namespace stepcast {

std::string_view text_of_kind(StreamKind kind) {
  switch (kind) {
    case StreamKind::elementwise:
      return "elementwise";
    case StreamKind::norm:
      return "norm";
    case StreamKind::softmax:
      return "softmax";
    case StreamKind::loss:
      return "loss";
    case StreamKind::embedding:
      return "embedding";
    case StreamKind::optimizer:
      return "optimizer";
    case StreamKind::reduction:
      return "reduction";
    case StreamKind::copy:
      return "copy";
    case StreamKind::batch_norm:
      return "batch_norm";
  }
  STEPCAST_ASSERT(false, "every StreamKind is listed above");
  return "";
}

std::string_view text_of_direction(Pass pass) {
  switch (pass) {
    case Pass::backward_data:
      return "backward_data";
    case Pass::backward_weight:
      return "backward_weight";
    default:
      return "forward";
  }
}

std::string kernel_key(const Op& op) {
  const std::string_view precision = text_of(op.precision);
  if (const auto* g = std::get_if<GemmShape>(&op.shape))
    return fmt::format("gemm/{}/m{}/n{}/k{}/b{}{}", precision, g->m, g->n, g->k, g->batch,
                       g->grouped ? "/grouped" : "");
  if (const auto* a = std::get_if<AttentionShape>(&op.shape))
    return fmt::format("attention_{}/{}/b{}/h{}/kv{}/q{}/k{}/d{}/v{}/{}",
                       a->is_backward ? "backward" : "forward", precision, a->batch, a->heads,
                       a->kv_heads, a->query_length, a->key_length, a->head_dim_qk, a->head_dim_v,
                       a->causal ? "causal" : "full");
  if (const auto* s = std::get_if<StreamShape>(&op.shape))
    return fmt::format("{}/{}/r{}/w{}/{}", text_of_kind(s->kind), precision, s->read.value,
                       s->written.value, text_of_direction(op.pass));
  const auto* c = std::get_if<ConvShape>(&op.shape);
  STEPCAST_ASSERT(c != nullptr, "collectives are refused before a kernel key is asked for");
  return fmt::format("conv/{}/n{}/c{}/h{}/w{}/o{}/f{}/s{}/g{}/{}", precision, c->n, c->c_in, c->h,
                     c->w, c->c_out, c->kernel, c->stride, c->groups, text_of_direction(op.pass));
}
}  // namespace stepcast
