#include "sim/cost/cost_model.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/assert.hpp"
#include "sim/core/random.hpp"
#include "sim/core/result.hpp"
#include "sim/cost/kernel_cost.hpp"
#include "sim/cost/roofline.hpp"
#include "sim/profile/kernel_key.hpp"
#include "sim/profile/parameters.hpp"

namespace stepcast {
namespace {

/// Everything of an op that its cost depends on, as plain integers: equal keys cost the same.
using CostKey = std::array<std::int64_t, 14>;
CostKey key_of(const Op& op) {
  CostKey key{};
  key[0] = static_cast<std::int64_t>(op.shape.index());
  key[1] = static_cast<std::int64_t>(op.pass);
  key[2] = static_cast<std::int64_t>(op.precision);
  key[3] = op.eager_launches;
  key[4] = op.fused_launches;
  std::size_t at = 5;
  const auto put = [&](auto... values) { ((key[at++] = static_cast<std::int64_t>(values)), ...); };
  if (const auto* g = std::get_if<GemmShape>(&op.shape))
    put(g->m, g->n, g->k, g->batch, g->grouped);
  if (const auto* a = std::get_if<AttentionShape>(&op.shape))
    put(a->batch, a->heads, a->kv_heads, a->query_length, a->key_length, a->head_dim_qk,
        a->head_dim_v, 2 * static_cast<int>(a->causal) + static_cast<int>(a->is_backward));
  if (const auto* s = std::get_if<StreamShape>(&op.shape))
    put(s->kind, s->read.value, s->written.value);
  if (const auto* c = std::get_if<ConvShape>(&op.shape))
    put(c->n, c->c_in, c->h, c->w, c->c_out, c->kernel, c->stride, c->groups);
  return key;
}
struct CostKeyHash {
  std::size_t operator()(const CostKey& key) const {
    std::uint64_t bits = 0;
    for (const std::int64_t part : key) bits = mixed_bits(bits ^ static_cast<std::uint64_t>(part));
    return bits;
  }
};
}  // namespace

double CostContext::parameter(const std::string& name, double fallback) const {
  return stepcast::parameter(kernels.parameters, name, fallback);
}
double CostContext::factor(const std::string& curve, double x, double fallback) const {
  const FactorCurve* found = kernels.factor(curve);
  return found == nullptr ? fallback : found->at(x);
}
double CostContext::sustained_gemm(Flops flops, Precision precision) const {
  if (options.is_burst) return 1.0;
  const double wide = factor("sustained/gemm", flops.value, kernels.sustained_factor_gemm);
  return options.slowest_board *
         (precision == Precision::fp8 ? factor("sustained/gemm/fp8", flops.value, wide) : wide);
}

FamilyChoice family_for(const CostContext& context, const std::string& kind, Precision precision,
                        const std::string& suffix) {
  using enum Precision;
  // Order of trust: the same precision, the other 16-bit type, then whatever runs on the same
  // units.
  const std::array<Precision, 6> order =
      precision == fp32                       ? std::array{fp32, tf32, bf16, fp16, fp8, int8}
      : precision == tf32                     ? std::array{tf32, bf16, fp16, fp32, fp8, int8}
      : precision == fp8 || precision == int8 ? std::array{fp8, int8, bf16, fp16, tf32, fp32}
                                              : std::array{bf16, fp16, fp8, tf32, int8, fp32};
  FamilyChoice choice;
  const auto is_16_bit = [](Precision p) { return p == bf16 || p == fp16; };
  const auto take = [&](Precision p) {
    choice.name = fmt::format("{}/{}{}", kind, text_of(p), suffix);
    const auto found = context.lookups.find(choice.name);
    if (found == context.lookups.end()) return false;
    choice.lookup = &found->second;
    choice.is_borrowed = p != precision && !(is_16_bit(p) && is_16_bit(precision));
    return true;
  };
  if (take(precision)) return choice;
  for (const Precision p : order)
    if ((p != fp32 || precision == fp32) && take(p))
      return choice;  // vector units say nothing of tensor cores
  choice.name.clear();
  return choice;
}

struct CostModel::Index {
  CostContext context;
  std::unordered_map<std::string, Seconds> measured;
  std::unordered_map<CostKey, OpCost, CostKeyHash> seen;
};

CostModel::~CostModel() = default;

CostModel::CostModel(const Profile& profile, const GpuSpec& gpu, const CostOptions& options)
    : profile_(profile), gpu_(gpu), options_(options) {
  const auto& host = profile_.kernels.host;
  if (options_.host != HostMode::none && !host.empty() && !host.contains(options_.framework)) {
    std::vector<std::string> known;
    for (const auto& [name, fit] : host) known.push_back(name);
    const std::string near = nearest_name(options_.framework, known);
    throw InputError(
        Problem{profile_.name, "/kernels/host",
                "framework \"" + options_.framework + "\" is not one of " + joined(known),
                near.empty() ? "" : "did you mean \"" + near + "\"?"});
  }
  index_ = std::make_unique<Index>(
      Index{CostContext{profile_.kernels, gpu_, options_, {}, 1.0}, {}, {}});
  if (profile_.gpu.memory_bandwidth.value > 0)
    index_->context.bandwidth_scale = gpu_.memory_bandwidth / profile_.gpu.memory_bandwidth;
  for (const KernelFamily& family : profile_.kernels.families)
    index_->context.lookups.emplace(family.name, UtilisationLookup(family));
  for (const MeasuredKernel& kernel : profile_.kernels.measured)
    index_->measured.emplace(kernel.key, kernel.median);
}

Seconds CostModel::roofline(const Op& op) const {
  const Precision precision = supported_precision(gpu_, op.precision);
  if (const auto* g = std::get_if<GemmShape>(&op.shape))
    return roofline_time(gemm_amounts(*g, precision), precision, gpu_);
  if (const auto* a = std::get_if<AttentionShape>(&op.shape))
    return roofline_time(attention_amounts(*a, precision), precision, gpu_);
  if (const auto* c = std::get_if<ConvShape>(&op.shape))
    return roofline_time(conv_amounts(*c, precision), precision, gpu_);
  const auto* s = std::get_if<StreamShape>(&op.shape);
  STEPCAST_ASSERT(s != nullptr, "collectives are costed by CollectiveModel");
  return stream_roofline(index_->context, *s);
}

OpCost CostModel::cost(const Op& op) const {
  STEPCAST_ASSERT(!op.is_collective(), "collectives are costed by CollectiveModel");
  const CostKey key = key_of(op);
  if (const auto seen = index_->seen.find(key); seen != index_->seen.end()) return seen->second;

  const CostContext& context = index_->context;
  const int launches = launches_of(options_, op);
  OpCost cost;
  const auto measured =
      index_->measured.empty() ? index_->measured.end() : index_->measured.find(kernel_key(op));
  if (measured != index_->measured.end()) {
    cost.duration = measured->second;
  } else {
    if (const auto* g = std::get_if<GemmShape>(&op.shape))
      cost = gemm_cost(context, *g, op.precision, op.pass);
    if (const auto* a = std::get_if<AttentionShape>(&op.shape))
      cost = attention_cost(context, *a, op.precision);
    if (const auto* c = std::get_if<ConvShape>(&op.shape))
      cost = conv_cost(context, *c, op.precision, op.pass);
    if (const auto* s = std::get_if<StreamShape>(&op.shape))
      cost = stream_cost(context, *s, op.pass, launches);
    cost.duration = std::max(cost.duration, roofline(op));
    if (!options_.is_burst) {
      // Kernels beside the main one (a bias, a cast) are short; each, and the main one, leaves a
      // gap on its stream. Bandwidth fits carry their own latency per launch, attention ratios were
      // measured over all kernels of a pass.
      const bool counts_beside = std::holds_alternative<GemmShape>(op.shape) ||
                                 std::holds_alternative<ConvShape>(op.shape);
      const int beside = counts_beside ? std::max(0, launches - 1) : 0;
      cost.duration += Seconds(
          (beside * profile_.kernels.kernel_floor_us + launches * profile_.kernels.launch_gap_us) *
          1e-6);
    }
  }
  cost.host = host_issue_time(context, op);
  if (options_.host == HostMode::blocking) {  // nothing is issued while a kernel runs
    cost.duration += cost.host;
    cost.host = Seconds(0);
  }
  index_->seen.emplace(key, cost);
  return cost;
}
}  // namespace stepcast
