#include "runtime/model/transformer_block.hpp"

#include <cmath>

#include "sim/timeline/op_names.hpp"

namespace stepcast::runtime {

BlockParameters add_block_parameters(Parameters& parameters, const TransformerSpec& model,
                                     const std::string& prefix, int tp, int tp_rank) {
  const std::int64_t C = model.hidden, D = model.head_dim, H = model.heads / tp,
                     K = model.kv_heads / tp, F = model.ffn / tp;
  const double deviation = 0.02;  // GPT-2's initialisation; projections into the residual path by 1
                                  // / sqrt(2 layers) less
  const double into_residual = deviation / std::sqrt(2.0 * static_cast<double>(model.layers));
  const bool split = tp > 1;
  const auto norm = [&](const char* name, std::size_t& weight, std::size_t& bias) {
    weight = parameters.add({.name = prefix + name + ".weight", .columns = C, .constant = 1});
    if (model.norm == NormKind::layernorm)
      bias = parameters.add({.name = prefix + name + ".bias", .columns = C});
  };
  /// Rows split by pieces (query, key, value; gate, up), each of which is dealt out whole to the
  /// ranks.
  const auto column_split = [&](const char* name, std::vector<std::int64_t> widths,
                                std::size_t& weight, std::size_t& bias) {
    Parameter matrix{.name = prefix + name + ".weight",
                     .columns = C,
                     .deviation = deviation,
                     .is_replicated = !split};
    matrix.rows = 0;
    std::int64_t global = 0;
    for (const std::int64_t width : widths) {
      matrix.pieces.push_back({width, global + tp_rank * width});
      matrix.rows += width;
      global += width * tp;
    }
    const std::int64_t rows = matrix.rows;
    weight = parameters.add(std::move(matrix));
    if (model.bias)
      bias = parameters.add(
          {.name = prefix + name + ".bias", .columns = rows, .is_replicated = !split});
  };
  const auto row_split = [&](const char* name, std::int64_t in, std::size_t& weight,
                             std::size_t& bias) {
    weight = parameters.add({.name = prefix + name + ".weight",
                             .rows = C,
                             .columns = in,
                             .first_column = tp_rank * in,
                             .global_columns = in * tp,
                             .deviation = into_residual,
                             .is_replicated = !split});
    if (model.bias) bias = parameters.add({.name = prefix + name + ".bias", .columns = C});
  };
  BlockParameters at;
  norm("norm1", at.norm1_weight, at.norm1_bias);
  column_split("qkv", {H * D, K * D, K * D}, at.qkv, at.qkv_bias);
  row_split("attention_out", H * D, at.out, at.out_bias);
  norm("norm2", at.norm2_weight, at.norm2_bias);
  column_split("mlp_up", model.gated ? std::vector{F, F} : std::vector{F}, at.up, at.up_bias);
  row_split("mlp_down", F, at.down, at.down_bias);
  return at;
}

namespace {
Buffer tokens_by(Device& device, const BlockShape& s, std::int64_t width, Precision precision) {
  return Buffer(device, s.rows() * width, precision);
}
Buffer statistic(Device& device, std::int64_t elements) {
  return Buffer(device, elements, Precision::fp32);
}
std::int64_t up_width(const BlockShape& s) { return s.gated ? 2 * s.F : s.F; }
}  // namespace

BlockActivations::BlockActivations(Device& device, const BlockShape& s, Precision p)
    : norm1(tokens_by(device, s, s.C, p)),
      mean1(statistic(device, s.rows())),
      rstd1(statistic(device, s.rows())),
      qkv(tokens_by(device, s, s.qkv_width(), p)),
      attention(tokens_by(device, s, s.H * s.D, p)),
      lse(statistic(device, s.rows() * s.H)),
      residual1(tokens_by(device, s, s.C, p)),
      norm2(tokens_by(device, s, s.C, p)),
      mean2(statistic(device, s.rows())),
      rstd2(statistic(device, s.rows())),
      up(tokens_by(device, s, up_width(s), p)),
      act(tokens_by(device, s, s.F, p)) {}

BlockWorkspace::BlockWorkspace(Device& device, const BlockShape& s, Precision p)
    : branch(tokens_by(device, s, s.C, p)),
      dbranch(tokens_by(device, s, s.C, p)),
      dnorm(tokens_by(device, s, s.C, p)),
      dup(tokens_by(device, s, up_width(s), p)),
      dact(tokens_by(device, s, s.F, p)),
      dattention(tokens_by(device, s, s.H * s.D, p)),
      dq(tokens_by(device, s, s.H * s.D, p)),
      dk(tokens_by(device, s, s.K * s.D, p)),
      dv(tokens_by(device, s, s.K * s.D, p)),
      dqkv(tokens_by(device, s, s.qkv_width(), p)),
      attention(device, device.kernels().attention_workspace({.batch = s.B,
                                                              .length = s.T,
                                                              .heads = s.H,
                                                              .kv_heads = s.K,
                                                              .head_dim = s.D,
                                                              .causal = s.causal})) {}

namespace {
/// The calls of one block, bound once, so that forward and backward read as lists of ops.
class Block {
 public:
  Block(const LayerContext& context, const BlockShape& shape, const Parameters& parameters,
        const BlockParameters& at, BlockActivations& kept, BlockWorkspace& work)
      : c_(context), s_(shape), p_(parameters), at_(at), kept_(kept), work_(work) {}

  void forward(View x, View y) {
    norm_forward(op::norm1, norm1(x));
    linear_forward(c_, qkv());
    rope(work_.dq.view(), work_.dk.view(), false);
    {
      const OpScope scope = c_.op(op::attention);
      c_.kernels().attention_forward(c_.stream, attention());
    }
    linear_forward(c_, out());
    residual(x, at_.out_bias, kept_.residual1.view());
    norm_forward(op::norm2, norm2());
    linear_forward(c_, up());
    {
      const OpScope scope = c_.op(op::mlp_act);
      c_.kernels().activation_forward(c_.stream, activation());
    }
    linear_forward(c_, down());
    residual(kept_.residual1.view(), at_.down_bias, y);
  }

  void backward(View x, View gradient, GradientSink* sink) {
    branch_end_backward(down(), at_.down_bias, at_.down, gradient, sink);
    {
      const OpScope scope = c_.op(op::mlp_act);
      c_.kernels().activation_backward(c_.stream, activation());
    }
    bias_gradient(op::mlp_act, at_.up_bias, work_.dup.view(), up_width(s_));
    linear_backward(c_, up());
    ready(sink, at_.up);
    norm_backward(op::norm2, norm2(), gradient);
    ready(sink, at_.norm2_weight);

    branch_end_backward(out(), at_.out_bias, at_.out, gradient, sink);
    {
      const OpScope scope = c_.op(op::attention);
      c_.kernels().attention_backward(c_.stream, attention());
    }
    rope(work_.dq.view(), work_.dk.view(), true);
    {
      const OpScope scope = c_.op(op::qkv_grad);
      c_.kernels().pack_qkv(c_.stream, work_.dq.view(), work_.dk.view(), work_.dv.view(),
                            work_.dqkv.view(), s_.rows(), s_.H * s_.D, s_.K * s_.D);
    }
    bias_gradient(op::qkv_bias, at_.qkv_bias, work_.dqkv.view(), s_.qkv_width());
    linear_backward(c_, qkv());
    ready(sink, at_.qkv);
    norm_backward(op::norm1, norm1(x), gradient);
    ready(sink, at_.norm1_weight);
  }

 private:
  NormCall norm(std::size_t weight, std::size_t bias, View x, Buffer& y, Buffer& mean,
                Buffer& rstd) const {
    NormCall call{.kind = s_.norm,
                  .rows = s_.rows(),
                  .width = s_.C,
                  .x = x,
                  .weight = p_.weight(weight),
                  .mean = mean.view(),
                  .rstd = rstd.view(),
                  .y = y.view(),
                  .dy = work_.dnorm.view(),
                  .dx = work_.dbranch.view(),
                  .dweight = p_.gradient(weight)};
    if (s_.norm == NormKind::layernorm) {
      call.bias = p_.weight(bias);
      call.dbias = p_.gradient(bias);
    }
    return call;
  }
  NormCall norm1(View x) const {
    return norm(at_.norm1_weight, at_.norm1_bias, x, kept_.norm1, kept_.mean1, kept_.rstd1);
  }
  NormCall norm2() const {
    return norm(at_.norm2_weight, at_.norm2_bias, kept_.residual1.view(), kept_.norm2, kept_.mean2,
                kept_.rstd2);
  }
  void norm_forward(std::string_view name, const NormCall& call) const {
    const OpScope scope = c_.op(name);
    c_.kernels().norm_forward(c_.stream, call);
  }
  /// Through the norm, then joined with the gradient that came along the residual path.
  void norm_backward(std::string_view name, const NormCall& call, View gradient) const {
    {
      const OpScope scope = c_.op(name);
      c_.kernels().norm_backward(c_.stream, call);
    }
    const OpScope scope = c_.op(op::residual_grad);
    c_.kernels().add(c_.stream, gradient, call.dx, {}, gradient, s_.rows(), s_.C);
  }

  LinearCall linear(std::string_view name, WeightSplit split, std::int64_t out_width,
                    std::int64_t in_width, std::size_t weight, View x, View y) const {
    return {.name = name,
            .split = split,
            .rows = s_.rows(),
            .out = out_width,
            .in = in_width,
            .x = x,
            .weight = p_.weight(weight),
            .y = y,
            .dweight = p_.gradient(weight)};
  }
  LinearCall qkv() const {
    LinearCall call = linear(op::qkv, WeightSplit::column, s_.qkv_width(), s_.C, at_.qkv,
                             kept_.norm1.view(), kept_.qkv.view());
    if (s_.bias) call.bias = p_.weight(at_.qkv_bias);
    call.dy = work_.dqkv.view();
    call.dx = work_.dnorm.view();
    return call;
  }
  LinearCall out() const {
    LinearCall call = linear(op::attention_out, WeightSplit::row, s_.C, s_.H * s_.D, at_.out,
                             kept_.attention.view(), work_.branch.view());
    call.dx = work_.dattention.view();
    return call;
  }
  LinearCall up() const {
    LinearCall call = linear(op::mlp_up, WeightSplit::column, up_width(s_), s_.C, at_.up,
                             kept_.norm2.view(), kept_.up.view());
    call.dy = work_.dup.view();
    call.dx = work_.dnorm.view();
    return call;
  }
  LinearCall down() const {
    LinearCall call = linear(op::mlp_down, WeightSplit::row, s_.C, s_.F, at_.down, kept_.act.view(),
                             work_.branch.view());
    call.dx = work_.dact.view();
    return call;
  }
  ActivationCall activation() const {
    return {.kind = s_.gated ? ActivationKind::swiglu : ActivationKind::gelu,
            .rows = s_.rows(),
            .width = s_.F,
            .x = kept_.up.view(),
            .bias = s_.bias ? p_.weight(at_.up_bias) : View{},
            .y = kept_.act.view(),
            .dy = work_.dact.view(),
            .dx = work_.dup.view()};
  }
  AttentionCall attention() const {
    return {.batch = s_.B,
            .length = s_.T,
            .heads = s_.H,
            .kv_heads = s_.K,
            .head_dim = s_.D,
            .causal = s_.causal,
            .qkv = kept_.qkv.view(),
            .y = kept_.attention.view(),
            .lse = kept_.lse.view(),
            .dy = work_.dattention.view(),
            .dq = work_.dq.view(),
            .dk = work_.dk.view(),
            .dv = work_.dv.view(),
            .workspace = work_.attention.view()};
  }
  /// Forward on the packed projection, in one call: query and key heads stand side by side.
  /// Backward on the two gradients.
  void rope(View dq, View dk, bool is_backward) const {
    if (!s_.rope) return;
    const OpScope scope = c_.op(op::rope);
    RopeCall call{.batch = s_.B,
                  .length = s_.T,
                  .heads = s_.H + s_.K,
                  .head_dim = s_.D,
                  .row = s_.qkv_width(),
                  .is_backward = is_backward,
                  .x = kept_.qkv.view()};
    if (!is_backward) return c_.kernels().rope(c_.stream, call);
    call.heads = s_.H, call.row = s_.H * s_.D, call.x = dq;
    c_.kernels().rope(c_.stream, call);
    call.heads = s_.K, call.row = s_.K * s_.D, call.x = dk;
    c_.kernels().rope(c_.stream, call);
  }
  void residual(View x, std::size_t bias, View y) const {
    const OpScope scope = c_.op(op::residual);
    c_.kernels().add(c_.stream, x, work_.branch.view(), s_.bias ? p_.weight(bias) : View{}, y,
                     s_.rows(), s_.C);
  }
  /// Through the linear layer that ends a residual branch: its output's gradient is the block's.
  void branch_end_backward(LinearCall call, std::size_t bias, std::size_t weight, View gradient,
                           GradientSink* sink) const {
    bias_gradient(op::residual, bias, gradient, s_.C);
    call.dy = gradient;
    linear_backward(c_, call);
    ready(sink, weight);
  }
  void bias_gradient(std::string_view name, std::size_t bias, View dy, std::int64_t width) const {
    if (!s_.bias) return;
    const OpScope scope = c_.op(name);
    c_.kernels().column_sum(c_.stream, dy, p_.gradient(bias), s_.rows(), width);
  }
  void ready(GradientSink* sink, std::size_t parameter) const {
    if (sink != nullptr) sink->ready_from(p_.list()[parameter].offset);
  }

  const LayerContext& c_;
  const BlockShape& s_;
  const Parameters& p_;
  const BlockParameters& at_;
  BlockActivations& kept_;
  BlockWorkspace& work_;
};
}  // namespace

void block_forward(const LayerContext& context, const BlockShape& shape,
                   const Parameters& parameters, const BlockParameters& at, BlockActivations& kept,
                   BlockWorkspace& work, View x, View y) {
  Block(context, shape, parameters, at, kept, work).forward(x, y);
}
void block_backward(const LayerContext& context, const BlockShape& shape,
                    const Parameters& parameters, const BlockParameters& at, BlockActivations& kept,
                    BlockWorkspace& work, View x, View gradient, GradientSink* sink) {
  Block(context, shape, parameters, at, kept, work).backward(x, gradient, sink);
}
}  // namespace stepcast::runtime
