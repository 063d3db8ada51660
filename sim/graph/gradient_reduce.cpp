#include "sim/graph/gradient_reduce.hpp"

#include "sim/graph/offload.hpp"
#include "sim/timeline/host_op_names.hpp"
#include "sim/timeline/op_names.hpp"

namespace stepcast {
namespace {

int reduce(ProgramWriter& writer, Collective collective, GroupKind group, Bytes buffer,
           std::vector<int> after) {
  return writer.collective(op::grad_reduce, Lane::gradient, Category::exposed_dp, collective, group,
                           buffer, std::move(after));
}
/// What follows a message runs beside the backward, in order with the messages it serves.
int codec(ProgramWriter& writer, std::string_view name, std::vector<Op> ops, std::vector<int> after,
          Lane lane = Lane::gradient) {
  const int list = writer.add_list(name, std::move(ops));
  return writer.append({.kind = GraphOp::Kind::work,
                        .lane = lane,
                        .category = Category::compression,
                        .name = std::string(name),
                        .work = list,
                        .after = std::move(after)});
}
/// The reduction itself, of S bytes: the ZeRO stage decides who keeps the result.
void reduce_buffer(const StageContext& context, ProgramWriter& writer, GroupKind replicas,
                   Bytes buffer, std::vector<int> after) {
  if (context.layout().zero_stage == 0) {
    reduce(writer, Collective::all_reduce, replicas, buffer, std::move(after));
    return;
  }
  const GroupKind shard = context.shard_group(replicas);
  const int ranks = context.shard_ranks(replicas);
  int done = -1;
  if (ranks > 1) done = reduce(writer, Collective::reduce_scatter, shard, buffer, after);
  if (shard != replicas)
    reduce(writer, Collective::all_reduce, GroupKind::dp_replicate, Bytes(buffer.value / ranks),
           done >= 0 ? std::vector{done} : std::move(after));
}
}  // namespace

namespace {
/// Full precision inside the node, compressed between nodes: each rank reduces its part of the
/// bucket over the node, encodes it, exchanges it with the ranks of other nodes that hold the same
/// part, and the node gathers the parts.
void reduce_in_two_levels(const StageContext& context, ProgramWriter& writer,
                          const GradientBucket& bucket, std::vector<int> after) {
  const int inside = context.layout().shard_size,
            nodes = group_size(GroupKind::dp, context.layout()) / inside;
  const std::int64_t width = context.gradient_element_bytes();
  const Bytes whole(bucket.elements * width);
  int ready =
      reduce(writer, Collective::reduce_scatter, GroupKind::dp_shard, whole, std::move(after));
  GradientBucket part = bucket;  // a rank's rows of every matrix
  part.elements = (bucket.elements + inside - 1) / inside;
  part.matrix_elements = bucket.matrix_elements / inside;
  part.factor_p = bucket.factor_p / inside;
  CompressedBucket code = compressed(context.scenario().compression, part, width, nodes);
  if (!code.encode.empty()) ready = codec(writer, op::encode, std::move(code.encode), {ready});
  if (!code.is_summable) {
    ready = reduce(writer, Collective::all_gather, GroupKind::dp_replicate,
                   Bytes(code.payload.value * nodes), {ready});
  } else {
    ready = reduce(writer, Collective::all_reduce, GroupKind::dp_replicate, code.payload, {ready});
    if (!code.between.empty()) {
      ready = codec(writer, op::encode, std::move(code.between), {ready});
      ready = reduce(writer, Collective::all_reduce, GroupKind::dp_replicate, code.second_payload,
                     {ready});
    }
  }
  if (!code.decode.empty()) ready = codec(writer, op::decode, std::move(code.decode), {ready});
  reduce(writer, Collective::all_gather, GroupKind::dp_shard, whole, {ready});
}
}  // namespace

void reduce_bucket(const StageContext& context, ProgramWriter& writer, const GradientBucket& bucket,
                   std::vector<int> after) {
  reduce_on_network(context, writer, bucket, std::move(after));
  if (bucket.elements > 0) copy_gradients_to_host(context, writer, bucket);
}

void reduce_on_network(const StageContext& context, ProgramWriter& writer,
                       const GradientBucket& bucket, std::vector<int> after) {
  const int ranks = group_size(bucket.group, context.layout());
  if (ranks == 1 || bucket.elements == 0) return;
  if (bucket.hold_s > 0)
    after = {writer.append({.kind = GraphOp::Kind::work,
                            .lane = Lane::data,
                            .category = Category::exposed_dp,
                            .name = std::string(op::negotiate),
                            .after = std::move(after),
                            .hold_s = bucket.hold_s})};
  if (context.scenario().compression.two_level && bucket.group == GroupKind::dp) {
    reduce_in_two_levels(context, writer, bucket, std::move(after));
    return;
  }
  const std::int64_t element_bytes = context.gradient_element_bytes();
  const CompressionSpec& compression = context.scenario().compression;
  if (compression.scheme == CompressionScheme::none) {
    reduce_buffer(context, writer, bucket.group, Bytes(bucket.elements * element_bytes),
                  std::move(after));
    return;
  }
  // A server has combined the payloads before a worker decodes one.
  const int decoded = context.scenario().sync.has_servers() ? 1 : ranks;
  CompressedBucket code = compressed(compression, bucket, element_bytes, decoded);
  int ready = after.empty() ? -1 : after.back();
  // The gradient is encoded on the stream that made it, between two pieces of the backward: a
  // communication hook is called there (torch DistributedDataParallel.register_comm_hook), and so
  // the backward waits for it.
  if (!code.encode.empty())
    ready = codec(writer, op::encode, std::move(code.encode), std::move(after), Lane::compute);
  const auto last = [&] { return ready >= 0 ? std::vector{ready} : std::vector<int>{}; };
  if (!code.is_summable) {
    ready = reduce(writer, Collective::all_gather, bucket.group, Bytes(code.payload.value * ranks),
                   last());
  } else if (compression.scheme == CompressionScheme::powersgd) {
    // Every rank needs the reduced factors to rebuild its gradient, sharded or not.
    ready = reduce(writer, Collective::all_reduce, bucket.group, code.payload, last());
    if (!code.between.empty()) {
      ready = codec(writer, op::encode, std::move(code.between), last());
      ready = reduce(writer, Collective::all_reduce, bucket.group, code.second_payload, last());
    }
  } else {
    reduce_buffer(context, writer, bucket.group, code.payload, last());
    ready = writer.last_on(Lane::gradient);
  }
  if (!code.decode.empty()) codec(writer, op::decode, std::move(code.decode), last());
}
}  // namespace stepcast
