// Another GPU: kernels by class, each class by the ratio of two profiles.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "sim/cost/cost_model.hpp"
#include "sim/import/replay/what_if.hpp"

namespace stepcast {
namespace {
// One large op of each class: large enough that utilisation has settled on every GPU of the
// profiles.
Op representative(KernelClass c, Precision precision) {
  Op op;
  op.precision = precision;
  switch (c) {
    case KernelClass::gemm:
      op.shape = GemmShape{8192, 8192, 8192, 1, false};
      break;
    case KernelClass::attention:
      op.shape = AttentionShape{4, 32, 32, 4096, 4096, 128, 128, true, false};
      break;
    case KernelClass::convolution:
      op.shape = ConvShape{256, 256, 14, 14, 256, 3, 1, 1, 0};
      break;
    case KernelClass::streaming:
      op.shape = StreamShape{StreamKind::elementwise, Bytes(256 << 20), Bytes(128 << 20)};
      break;
  }
  return op;
}
std::string lower(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}
/// Kernels name their arithmetic: sgemm and ffma are fp32, s1688 and tf32 TF32 on tensor cores; the
/// rest of today's training is 16 bit.
Precision precision_in(std::string_view name) {
  const auto has = [&](const char* word) { return name.find(word) != std::string_view::npos; };
  if (has("tf32") || has("s1688") || has("tensorop_s")) return Precision::tf32;
  if (has("sgemm") || has("ffma") || has("f32f32_f32f32")) return Precision::fp32;
  return has("e4m3") || has("fp8") ? Precision::fp8 : Precision::bf16;
}
}  // namespace

KernelClass kernel_class_of(std::string_view kernel) {
  const std::string name = lower(kernel);
  const auto has_one = [&](auto... words) {
    return ((name.find(words) != std::string::npos) || ...);
  };
  const auto is_one = [&](auto... words) { return ((name == words) || ...); };
  if (has_one("flash", "fmha", "attn_fwd", "attn_bwd", "mha_fwd", "mha_bwd", "attention_fwd",
              "attention_bwd", "fused_attn") ||
      name == "attention")
    return KernelClass::attention;
  if (has_one("conv", "wgrad", "dgrad", "winograd", "implicit_gemm", "miopensp3", "fprop"))
    return KernelClass::convolution;
  if (has_one("gemm", "cutlass", "cublas", "nvjet", "cijk_", "matmul", "xmma", "splitk", "aten::mm",
              "addmm", "bmm"))
    return KernelClass::gemm;
  // Ops of scenarios and of Megatron's operation tables: passes are mostly products.
  if (is_one("qkv", "attention_out", "mlp_up", "mlp_down", "head", "fc", "expert_up", "expert_down",
             "shared_up", "shared_down", "q_down", "q_up", "kv_down", "kv_up", "bottom_mlp",
             "top_mlp", "router", "forward-compute", "backward-compute", "attention_scores",
             "attention_values"))
    return KernelClass::gemm;
  return KernelClass::streaming;
}

Change with_other_gpu(const Workload& workload, const Profile& from, const Profile& to) {
  const CostModel was(from, from.gpu, {.host = HostMode::none}),
      now(to, to.gpu, {.host = HostMode::none});
  constexpr std::size_t kClasses = 4, kPrecisions = 6;
  std::array<std::array<double, kPrecisions>, kClasses> ratio{};
  std::array<double, kClasses> seconds{};
  const auto ratio_of = [&](KernelClass c, Precision p) {
    double& r = ratio[static_cast<std::size_t>(c)][static_cast<std::size_t>(p)];
    if (r == 0)
      r = now.cost(representative(c, p)).duration / was.cost(representative(c, p)).duration;
    return r;
  };
  const double floor_from = from.kernels.kernel_floor_us * 1e-6,
               floor_to = to.kernels.kernel_floor_us * 1e-6;
  Change c{workload, "", 0};
  for (WorkRank& rank : c.workload.ranks)
    for (WorkOp& o : rank.ops) {
      if (o.kind != WorkKind::compute || o.duration_s <= floor_from) continue;
      const std::string& name = workload.names.text_of(o.name);
      const KernelClass kind = kernel_class_of(name);
      seconds[static_cast<std::size_t>(kind)] += o.duration_s;
      const Precision p =
          kind == KernelClass::streaming ? Precision::bf16 : precision_in(lower(name));
      o.duration_s = std::max(floor_to, o.duration_s * ratio_of(kind, p));
      ++c.ops_changed;
    }
  const double all = std::max(1e-300, seconds[0] + seconds[1] + seconds[2] + seconds[3]);
  c.assumption = fmt::format(
      "kernels keep their shapes and take profile {}'s time over {}'s: products x {:.3f} ({:.0f} % "
      "of kernel time), attention x {:.3f} ({:.0f} %), convolutions x {:.3f} ({:.0f} %), "
      "memory-bound x {:.3f} ({:.0f} %); classes by kernel name, host and network as recorded",
      to.name, from.name, ratio_of(KernelClass::gemm, Precision::bf16), 100 * seconds[0] / all,
      ratio_of(KernelClass::attention, Precision::bf16), 100 * seconds[1] / all,
      ratio_of(KernelClass::convolution, Precision::bf16), 100 * seconds[2] / all,
      ratio_of(KernelClass::streaming, Precision::bf16), 100 * seconds[3] / all);
  return c;
}
}  // namespace stepcast
