#include "sim/graph/step_end.hpp"

#include "sim/graph/offload.hpp"
#include "sim/timeline/op_names.hpp"

namespace stepcast {

int gather_parameters(const StageContext& context, ProgramWriter& writer, GroupKind replicas,
                      std::int64_t parameters, std::vector<int> after) {
  if (parameters == 0 || context.shard_ranks(replicas) == 1) return -1;
  return writer.collective(op::param_gather, Lane::gather, Category::exposed_dp,
                           Collective::all_gather, context.shard_group(replicas),
                           Bytes(parameters * context.parameter_element_bytes()), std::move(after));
}

namespace {
void reduce_tied_embedding(const StageContext& context, ProgramWriter& writer) {
  const bool is_edge = context.is_first_stage() || context.is_last_stage();
  if (context.layout().pp == 1 || !is_edge || context.model().tied_parameters == 0) return;
  std::vector<int> after;
  if (const int last = writer.last_on(Lane::compute); last >= 0) after.push_back(last);
  writer.collective(op::grad_reduce, Lane::gradient, Category::exposed_pp, Collective::all_reduce,
                    GroupKind::embedding,
                    Bytes(context.model().tied_parameters * context.gradient_element_bytes()),
                    std::move(after));
}

/// Elements per rank that the optimizer updates: a shard under ZeRO.
std::int64_t updated_parameters(const StageContext& context) {
  const std::int64_t dense = context.dense_parameters(), experts = context.expert_parameters();
  if (context.layout().zero_stage == 0) return dense + experts;
  const auto share = [&](std::int64_t elements, GroupKind kind) {
    const std::int64_t ranks = context.shard_ranks(kind);
    return (elements + ranks - 1) / ranks;
  };
  return share(dense, GroupKind::dp) + (experts > 0 ? share(experts, GroupKind::edp) : 0);
}
}  // namespace

void end_step(const StageContext& context, ProgramWriter& writer) {
  const ParallelLayout& layout = context.layout();
  reduce_tied_embedding(context, writer);
  if (const int last = writer.last_on(Lane::gradient); last >= 0) writer.hold_compute(last);

  // Norm, then its sum over the ranks, then everything that needs it. Each rank's gradients are the
  // whole model's only in plain data parallel, where the norm needs no message.
  const std::int64_t updated = updated_parameters(context);
  const std::int64_t held =
      layout.zero_stage > 0 ? updated : context.dense_parameters() + context.expert_parameters();
  std::vector<Op> norm, update;
  for (Op& op : optimizer_ops(updated, held, context.scenario().training))
    (op.name == op::grad_norm ? norm : update).push_back(std::move(op));
  if (!norm.empty()) {
    const int list = writer.add_list(op::grad_norm, std::move(norm));
    const int done = writer.work(list, {}, -1, 0, Category::optimizer);
    const bool is_split = layout.tp * layout.pp * layout.ep > 1 || layout.zero_stage > 0;
    if (is_split && layout.world() > 1)
      writer.hold_compute(writer.collective(op::grad_norm, Lane::gradient, Category::optimizer,
                                            Collective::all_reduce, GroupKind::world, Bytes(4),
                                            {done}));  // one fp32 square sum
  }
  int updated_at = writer.last_on(Lane::compute);
  if (context.scenario().strategy.offload != Offload::none) {
    if (const int copied = writer.last_on(Lane::data); copied >= 0) writer.hold_compute(copied);
    update = update_on_host(context, updated);
  }
  if (!update.empty())
    updated_at = writer.work(writer.add_list(phase::optimizer, std::move(update)), {}, -1, 0,
                             Category::optimizer);

  const bool gathers_here = (layout.zero_stage == 1 || layout.zero_stage == 2) &&
                            !context.scenario().strategy.overlap_param_gather;
  if (!gathers_here) return;
  const std::vector<int> after = updated_at >= 0 ? std::vector{updated_at} : std::vector<int>{};
  gather_parameters(context, writer, GroupKind::dp, context.dense_parameters(), after);
  gather_parameters(context, writer, GroupKind::edp, context.expert_parameters(), after);
}
}  // namespace stepcast
