#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "sim/core/enum_text.hpp"
#include "sim/core/units.hpp"

/// What one rank does, in amounts: no clock, no bandwidth. cost turns an Op into seconds.
/// Shape letters: B micro-batch (samples), T sequence length of this rank, C hidden, H heads, V
/// vocabulary.
namespace stepcast {

enum class Precision { fp32, tf32, fp16, bf16, fp8, int8 };
template <>
struct EnumText<Precision> {
  static constexpr std::array<std::pair<Precision, std::string_view>, 6> table{
      {{Precision::fp32, "fp32"},
       {Precision::tf32, "tf32"},
       {Precision::fp16, "fp16"},
       {Precision::bf16, "bf16"},
       {Precision::fp8, "fp8"},
       {Precision::int8, "int8"}}};
};
/// Bytes of one element.
constexpr std::int64_t bytes_per_element(Precision p) {
  switch (p) {
    case Precision::fp32:
    case Precision::tf32:
      return 4;
    case Precision::fp16:
    case Precision::bf16:
      return 2;
    default:
      return 1;
  }
}

enum class Collective { all_reduce, all_gather, reduce_scatter, broadcast, all_to_all, send_recv };
template <>
struct EnumText<Collective> {
  static constexpr std::array<std::pair<Collective, std::string_view>, 6> table{
      {{Collective::all_reduce, "all_reduce"},
       {Collective::all_gather, "all_gather"},
       {Collective::reduce_scatter, "reduce_scatter"},
       {Collective::broadcast, "broadcast"},
       {Collective::all_to_all, "all_to_all"},
       {Collective::send_recv, "send_recv"}}};
};

/// Which process group a collective runs in. dp: the ranks that hold the same dense parameters
/// (data x context parallel). edp: those that hold the same experts. embedding: first and last
/// stage sharing tied weights. world: every rank. dp_shard and dp_replicate: the two halves of a
/// hybrid-sharded dp group (HSDP), runs of shard_size consecutive members, and the members that
/// hold the same shard.
enum class GroupKind : std::uint8_t {
  tp,
  cp,
  ep,
  dp,
  edp,
  pp,
  embedding,
  world,
  dp_shard,
  dp_replicate
};
inline constexpr int kGroupKinds = 10;
template <>
struct EnumText<GroupKind> {
  static constexpr std::array<std::pair<GroupKind, std::string_view>, 10> table{
      {{GroupKind::tp, "tp"},
       {GroupKind::cp, "cp"},
       {GroupKind::ep, "ep"},
       {GroupKind::dp, "dp"},
       {GroupKind::edp, "edp"},
       {GroupKind::pp, "pp"},
       {GroupKind::embedding, "embedding"},
       {GroupKind::world, "world"},
       {GroupKind::dp_shard, "dp_shard"},
       {GroupKind::dp_replicate, "dp_replicate"}}};
};

/// When the op runs. backward_data: gradient of the input; backward_weight: gradient of the
/// parameters, which zero-bubble schedules may delay; recompute: forward work repeated before the
/// backward.
enum class Pass : std::uint8_t { forward, recompute, backward_data, backward_weight, optimizer };

/// out (m x n) = a (m x k) * b (k x n), `batch` independent ones of that shape in one launch.
/// grouped: the batch members are experts with an uneven m (m is the mean).
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  bool grouped = false;
};
/// Softmax(Q K^T) V. fused: one flash kernel; otherwise the caller emits batched GEMMs and softmax
/// itself. is_backward: the gradient of all three inputs (2.5x the forward's flops).
struct AttentionShape {
  std::int64_t batch = 0, heads = 0, kv_heads = 0, query_length = 0, key_length = 0;
  std::int64_t head_dim_qk = 0, head_dim_v = 0;
  bool causal = true, is_backward = false;
};
/// Bandwidth-bound work: what is read and written; the kind picks the efficiency.
enum class StreamKind : std::uint8_t {
  elementwise,
  norm,
  softmax,
  loss,
  embedding,
  optimizer,
  reduction,
  copy,
  batch_norm
};
struct StreamShape {
  StreamKind kind = StreamKind::elementwise;
  Bytes read, written;
};
/// n images of c_in x h x w (input), c_out filters of kernel x kernel (or kernel x kernel_w when
/// that is not 0); direction by the op's pass.
struct ConvShape {
  std::int64_t n = 0, c_in = 0, h = 0, w = 0, c_out = 0, kernel = 1, stride = 1, groups = 1,
               kernel_w = 0;
};
/// S = the whole buffer as nccl-tests counts it (all_gather: the gathered size; reduce_scatter: the
/// input size).
struct CollectiveShape {
  Collective collective = Collective::all_reduce;
  GroupKind group = GroupKind::tp;
  Bytes buffer;
};

struct Op {
  std::string name;  // from op_names.hpp, the same in measured timelines
  Pass pass = Pass::forward;
  Precision precision = Precision::bf16;
  std::variant<GemmShape, AttentionShape, StreamShape, ConvShape, CollectiveShape> shape;
  /// Kernels launched by an eager framework for this op, and by one with fused kernels: the host's
  /// issue cost.
  int eager_launches = 1, fused_launches = 1;
  /// Hardware flops (multiply-add = 2); 0 for bandwidth-bound ops and collectives.
  Flops flops;
  /// True for a collective that the framework hides behind compute where overlap is on (tp_overlap,
  /// cp ring).
  bool overlappable = false;

  bool is_collective() const { return std::holds_alternative<CollectiveShape>(shape); }
};
}  // namespace stepcast
