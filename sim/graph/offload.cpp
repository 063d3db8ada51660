#include "sim/graph/offload.hpp"

#include "sim/timeline/host_op_names.hpp"
#include "sim/timeline/op_names.hpp"

namespace stepcast {
namespace {
Op host_op(std::string_view name, std::int64_t read, std::int64_t written) {
  Op op{.name = std::string(name),
        .pass = Pass::optimizer,
        .precision = Precision::fp32,
        .shape = StreamShape{StreamKind::copy, Bytes(read), Bytes(written)}};
  op.eager_launches = op.fused_launches = 1;
  return op;
}
std::int64_t shard(const StageContext& context, GroupKind group, std::int64_t elements) {
  const std::int64_t ranks = context.shard_ranks(group);
  return (elements + ranks - 1) / ranks;
}
}  // namespace

void copy_gradients_to_host(const StageContext& context, ProgramWriter& writer,
                            const GradientBucket& bucket) {
  if (context.scenario().strategy.offload == Offload::none) return;
  const std::int64_t bytes =
      shard(context, bucket.group, bucket.elements) * context.gradient_element_bytes();
  std::vector<int> after;
  if (const int last = writer.last_on(Lane::gradient); last >= 0)
    after.push_back(last);
  else if (const int done = writer.last_on(Lane::compute); done >= 0)
    after.push_back(done);
  const int list = writer.add_list(op::host_copy, {host_op(op::host_copy, bytes, bytes)});
  writer.append({.kind = GraphOp::Kind::work,
                 .lane = Lane::data,
                 .category = Category::optimizer,
                 .name = std::string(op::host_copy),
                 .work = list,
                 .after = std::move(after)});
}

std::vector<Op> update_on_host(const StageContext& context, std::int64_t parameters) {
  // read: parameters that the CPU updates; written: bytes that come up. The slower of the two hides
  // the other (tiled).
  return {host_op(op::host_update, parameters, parameters * context.parameter_element_bytes())};
}

int fetch_parameters(const StageContext& context, ProgramWriter& writer, std::int64_t parameters,
                     const std::vector<int>& after) {
  if (context.scenario().strategy.offload != Offload::parameters || parameters == 0) return -1;
  const std::int64_t bytes =
      shard(context, GroupKind::dp, parameters) * context.parameter_element_bytes();
  const int list = writer.add_list(op::host_copy, {host_op(op::host_copy, bytes, bytes)});
  return writer.append({.kind = GraphOp::Kind::work,
                        .lane = Lane::data,
                        .category = Category::exposed_dp,
                        .name = std::string(op::host_copy),
                        .work = list,
                        .after = after});
}
}  // namespace stepcast
