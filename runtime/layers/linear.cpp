#include "runtime/layers/linear.hpp"

#include "sim/timeline/op_names.hpp"

namespace stepcast::runtime {

void tensor_all_reduce(const LayerContext& context, View data, std::int64_t elements,
                       Reduction reduction) {
  if (context.tensor_size() == 1) return;
  const OpScope scope = context.op(op::tp_all_reduce, Category::exposed_tp);
  context.tensor->all_reduce(context.stream, data, ElementCount{elements}, reduction);
}

void linear_forward(const LayerContext& context, const LinearCall& l) {
  {
    const OpScope scope = context.op(l.name);
    context.kernels().gemm(context.stream, {.a = l.x,
                                            .b = l.weight,
                                            .c = l.y,
                                            .m = l.rows,
                                            .n = l.out,
                                            .k = l.in,
                                            .b_transposed = true,
                                            .bias = l.bias});
  }
  if (l.split == WeightSplit::row) tensor_all_reduce(context, l.y, l.rows * l.out);
}

void linear_backward(const LayerContext& context, const LinearCall& l) {
  if (l.dx) {
    {
      const OpScope scope = context.op(l.name);
      context.kernels().gemm(
          context.stream,
          {.a = l.dy, .b = l.weight, .c = l.dx, .m = l.rows, .n = l.in, .k = l.out});
    }
    if (l.split == WeightSplit::column) tensor_all_reduce(context, l.dx, l.rows * l.in);
  }
  const OpScope scope = context.op(l.name);
  context.kernels().gemm(context.stream, {.a = l.dy,
                                          .b = l.x,
                                          .c = l.dweight,
                                          .m = l.out,
                                          .n = l.in,
                                          .k = l.rows,
                                          .a_transposed = true,
                                          .accumulates = true});
  if (l.dbias) context.kernels().column_sum(context.stream, l.dy, l.dbias, l.rows, l.out);
}
}  // namespace stepcast::runtime
