#include <fmt/format.h>

#include <algorithm>

#include "sim/launch/plan.hpp"

namespace stepcast::launch {
namespace {
using Flags = std::vector<std::vector<std::string>>;
template <class Number>
std::vector<std::string> with(const char* flag, Number value) {
  return {flag, fmt::format("{}", value)};
}

void add_attention(const TransformerSpec& t, Flags& flags) {
  if (t.mla) {
    flags.push_back({"--multi-latent-attention"});
    if (t.mla->q_lora_rank > 0) flags.push_back(with("--q-lora-rank", t.mla->q_lora_rank));
    flags.push_back(with("--kv-lora-rank", t.mla->kv_lora_rank));
    flags.push_back(with("--qk-head-dim", t.mla->qk_nope_dim));
    flags.push_back(with("--qk-pos-emb-head-dim", t.mla->qk_rope_dim));
    flags.push_back(with("--v-head-dim", t.mla->v_dim));
    return;
  }
  if (t.head_dim * t.heads != t.hidden) flags.push_back(with("--kv-channels", t.head_dim));
  if (t.kv_heads != t.heads) {
    flags.push_back({"--group-query-attention"});
    flags.push_back(with("--num-query-groups", t.kv_heads));
  }
}

void add_experts(const TransformerSpec& t, Flags& flags) {
  if (!t.moe) return;
  const MixtureSpec& m = *t.moe;
  flags.push_back(with("--num-experts", m.experts));
  flags.push_back(with("--moe-router-topk", m.top_k));
  flags.push_back(with("--moe-ffn-hidden-size", m.expert_ffn));
  if (m.shared_ffn > 0)
    flags.push_back(with("--moe-shared-expert-intermediate-size", m.shared_ffn));
  if (m.first_dense_layers > 0)
    flags.push_back({"--moe-layer-freq", fmt::format("([0]*{}+[1]*{})", m.first_dense_layers,
                                                     t.layers - m.first_dense_layers)});
  else if (m.layer_interval > 1)
    flags.push_back(with("--moe-layer-freq", m.layer_interval));
  flags.push_back({"--moe-token-dispatcher-type", "alltoall"});
  flags.push_back({"--moe-grouped-gemm"});
  if (m.capacity_factor > 0) {
    flags.push_back(with("--moe-expert-capacity-factor", m.capacity_factor));
    flags.push_back({"--moe-pad-expert-input-to-capacity"});
  }
}

ArgumentGroup model_group(const Scenario& s, Findings& f) {
  const TransformerSpec& t = s.model.transformer;
  ArgumentGroup group{"MODEL_ARGS", {}};
  Flags& flags = group.flags;
  flags.push_back(with("--num-layers", t.layers));
  flags.push_back(with("--hidden-size", t.hidden));
  flags.push_back(with("--num-attention-heads", t.heads));
  flags.push_back(with("--ffn-hidden-size", t.ffn));
  add_attention(t, flags);
  add_experts(t, flags);
  flags.push_back(with("--vocab-size", t.vocab));
  flags.push_back(with("--seq-length", s.training.sequence_length));
  flags.push_back(
      with("--max-position-embeddings", std::max(t.max_positions, s.training.sequence_length)));
  if (t.max_positions > 0) {
    flags.push_back({"--position-embedding-type", "learned_absolute"});
  } else if (t.rope) {
    flags.push_back({"--position-embedding-type", "rope"});
  } else {
    flags.push_back({"--position-embedding-type", "none"});
    f.warn("/model",
           "its positions are neither learned nor rotary (ALiBi, for one); Megatron-LM "
           "runs it without");
  }
  flags.push_back({"--normalization", t.norm == NormKind::rmsnorm ? "RMSNorm" : "LayerNorm"});
  if (t.gated) flags.push_back({"--swiglu"});
  if (!t.bias) flags.push_back({"--disable-bias-linear"});
  if (!t.tied_embedding) flags.push_back({"--untie-embeddings-and-output-weights"});
  if (!t.dropout) {  // its default is 0.1
    flags.push_back({"--hidden-dropout", "0"});
    flags.push_back({"--attention-dropout", "0"});
  }
  if (t.parallel_block)
    f.refuse("/model/parallel_block", "Megatron-LM runs attention and MLP one after the other",
             "no flag of it changes that");
  return group;
}

void add_precision(const TrainingSpec& t, Flags& flags, Findings& f) {
  switch (t.precision) {
    case Precision::bf16:
      flags.push_back({"--bf16"});
      break;
    case Precision::fp16:
      flags.push_back({"--fp16"});
      break;
    case Precision::fp8:
      flags.push_back({"--bf16"});
      flags.push_back({"--fp8-format", "hybrid"});
      flags.push_back(
          {"--fp8-recipe", t.narrow_scaling == NarrowScaling::delayed ? "delayed" : "tensorwise"});
      break;
    case Precision::fp32:
      break;
    case Precision::tf32:
      f.warn("/training/precision",
             "tf32 is switched on in the program (torch.set_float32_matmul_precision(\"high\"))");
      break;
    case Precision::int8:
      f.refuse("/training/precision", "Megatron-LM does not train in int8", "bf16, fp16 or fp8");
      break;
  }
}

void add_recompute(const TrainingSpec& t, Flags& flags, Findings& f) {
  if (t.recompute == Recompute::none) return;
  if (t.recompute == Recompute::selective) {
    flags.push_back({"--recompute-granularity", "selective"});
    return;
  }
  flags.push_back({"--recompute-granularity", "full"});
  flags.push_back({"--recompute-method", t.recompute_layers > 0 ? "block" : "uniform"});
  flags.push_back(with("--recompute-num-layers", std::max<std::int64_t>(1, t.recompute_layers)));
  if (t.recompute_interval > 1)
    f.refuse("/training/recompute_interval",
             "Megatron-LM recomputes runs of blocks, not every n-th one",
             "use recompute_layers, which is --recompute-method block");
}

void add_fusion(const TrainingSpec& t, Flags& flags, Findings& f) {
  if (t.fusion == Fusion::eager)
    for (const char* flag :
         {"--no-masked-softmax-fusion", "--no-bias-gelu-fusion", "--no-bias-swiglu-fusion",
          "--no-bias-dropout-fusion", "--no-rope-fusion"})
      flags.push_back({flag});
  if (t.fusion == Fusion::compiled)
    f.warn("/training/fusion", "Megatron-LM fuses by hand; torch.compile is not switched on");
  if (t.fused_loss) flags.push_back({"--cross-entropy-loss-fusion"});
  if (!t.fused_gradient_accumulation) flags.push_back({"--no-gradient-accumulation-fusion"});
}

ArgumentGroup training_group(const Scenario& s, Findings& f) {
  const TrainingSpec& t = s.training;
  ArgumentGroup group{"TRAINING_ARGS", {}};
  Flags& flags = group.flags;
  flags.push_back(with("--micro-batch-size", t.micro_batch));
  flags.push_back(with("--global-batch-size", t.global_batch));
  add_precision(t, flags, f);
  add_recompute(t, flags, f);
  add_fusion(t, flags, f);
  // Latent attention has kernels of its own in Transformer Engine: its choice is left alone.
  if (!s.model.transformer.mla)
    flags.push_back(
        {"--attention-backend", t.attention == AttentionKind::flash ? "flash" : "unfused"});
  if (t.optimizer == OptimizerKind::lamb)
    f.refuse("/training/optimizer", "Megatron-LM has no lamb", "adam or sgd");
  else
    flags.push_back({"--optimizer", std::string(text_of(t.optimizer))});
  flags.push_back({"--clip-grad", t.gradient_clip ? "1.0" : "0.0"});
  return group;
}
}  // namespace

std::vector<ArgumentGroup> megatron_arguments(const Scenario& scenario, Findings& findings) {
  if (scenario.model.kind != ModelKind::transformer && scenario.model.kind != ModelKind::moe) {
    findings.refuse(
        "/model/kind",
        "Megatron-LM trains transformers, not kind " + std::string(text_of(scenario.model.kind)),
        "stepcast export torchrun with a PyTorch strategy");
    return {};
  }
  return {model_group(scenario, findings), megatron_layout(scenario, findings),
          training_group(scenario, findings)};
}
}  // namespace stepcast::launch
