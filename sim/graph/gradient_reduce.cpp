#include "sim/graph/gradient_reduce.hpp"

#include "sim/timeline/op_names.hpp"

namespace stepcast {
namespace {

int reduce(ProgramWriter& writer, Collective collective, GroupKind group, Bytes buffer, std::vector<int> after) {
  return writer.collective(op::grad_reduce, Lane::gradient, Category::exposed_dp, collective, group, buffer, std::move(after));
}
/// Encode and decode run on the GPU beside the backward, in order with the messages they serve.
int codec(ProgramWriter& writer, std::string_view name, std::vector<Op> ops, std::vector<int> after) {
  const int list = writer.add_list(name, std::move(ops));
  return writer.append({.kind = GraphOp::Kind::work, .lane = Lane::gradient, .category = Category::compression,
                        .name = std::string(name), .work = list, .after = std::move(after)});
}
/// The reduction itself, of S bytes: the ZeRO stage decides who keeps the result.
void reduce_buffer(const StageContext& context, ProgramWriter& writer, GroupKind replicas, Bytes buffer, std::vector<int> after) {
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

void reduce_bucket(const StageContext& context, ProgramWriter& writer, const GradientBucket& bucket, std::vector<int> after) {
  const int ranks = group_size(bucket.group, context.layout());
  if (ranks == 1 || bucket.elements == 0) return;
  const std::int64_t element_bytes = context.gradient_element_bytes();
  const CompressionSpec& compression = context.scenario().compression;
  if (compression.scheme == CompressionScheme::none) {
    reduce_buffer(context, writer, bucket.group, Bytes(bucket.elements * element_bytes), std::move(after));
    return;
  }
  CompressedBucket code = compressed(compression, bucket, element_bytes, ranks);
  int ready = after.empty() ? -1 : after.back();
  if (!code.encode.empty()) ready = codec(writer, op::encode, std::move(code.encode), std::move(after));
  const auto last = [&] { return ready >= 0 ? std::vector{ready} : std::vector<int>{}; };
  if (!code.is_summable) {
    ready = reduce(writer, Collective::all_gather, bucket.group, Bytes(code.payload.value * ranks), last());
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
