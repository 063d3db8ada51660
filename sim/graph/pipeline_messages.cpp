#include "sim/graph/pipeline_messages.hpp"

#include "sim/timeline/op_names.hpp"

namespace stepcast {

/// `edge` e joins positions e and e + 1. Both ends derive the same tag from (micro-batch, edge,
/// direction).
void PipelineMessages::message(GraphOp::Kind kind, int edge, bool is_backward, const Work& work,
                               std::vector<int> after) {
  const int pp = context_.layout().pp;
  const bool is_send = kind == GraphOp::Kind::send;
  const int peer_position =
      is_send == is_backward ? edge : edge + 1;  // forward sends go to edge + 1
  const int tag = (work.micro_batch * (last_position() + 1) + edge) * 2 + (is_backward ? 1 : 0);
  GraphOp op{.kind = kind,
             .lane = is_send ? Lane::send : Lane::recv,
             .category = Category::exposed_pp,
             .name = std::string(is_send ? op::send : op::recv),
             .group = GroupKind::pp,
             .buffer = Bytes(context_.boundary_bytes(edge).value / parts()),
             .peer_stage = peer_position % pp,
             .tag = static_cast<std::uint32_t>(tag),
             .after = std::move(after),
             .micro_batch = work.micro_batch,
             .chunk = work.chunk};
  op.collective = Collective::send_recv;
  writer_.append(std::move(op));
}

/// Tensor-parallel ranks that hold equal activations send a part each and gather the whole behind
/// the message, over the faster links inside a node. Source: Narayanan et al., SC21, section 4.1
/// (scatter/gather); DeepSpeed's pipe_partitioned and grad_partitioned.
int PipelineMessages::parts() const {
  const ParallelLayout& layout = context_.layout();
  return layout.sequence_parallel ? 1 : layout.tp;
}

std::vector<int> PipelineMessages::receive_for(const Work& work) {
  if (context_.layout().pp == 1 || work.kind == Work::Kind::backward_weight) return {};
  const int position = position_of(work);
  if (work.is_forward() ? position == 0 : position == last_position()) return {};
  const int edge = work.is_forward() ? position - 1 : position;
  message(GraphOp::Kind::recv, edge, !work.is_forward(), work, {});
  const int received = writer_.last_on(Lane::recv);
  if (parts() == 1) return {received};
  return {writer_.collective(op::tp_all_gather, Lane::recv, Category::exposed_pp,
                             Collective::all_gather, GroupKind::tp, context_.boundary_bytes(edge),
                             {received})};
}

void PipelineMessages::send_from(const Work& work, int done) {
  if (context_.layout().pp == 1 || work.kind == Work::Kind::backward_weight) return;
  const int position = position_of(work);
  if (work.is_forward() ? position == last_position() : position == 0) return;
  message(GraphOp::Kind::send, work.is_forward() ? position : position - 1, !work.is_forward(),
          work, {done});
  if (!context_.scenario().strategy.overlap_p2p) writer_.hold_compute(writer_.last_on(Lane::send));
}
}  // namespace stepcast
