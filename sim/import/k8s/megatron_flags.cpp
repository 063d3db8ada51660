#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "sim/import/k8s/parts.hpp"
#include "sim/import/k8s/pipeline_layout.hpp"

namespace stepcast::k8s {
namespace {
struct NumberRow {
  const char *flag, *pointer;
};
// megatron/training/arguments.py of NVIDIA/Megatron-LM at 000c4ac2 (core 0.14).
constexpr NumberRow kNumbers[] = {
    {"num-layers", "/model/layers"},
    {"hidden-size", "/model/hidden"},
    {"num-attention-heads", "/model/heads"},
    {"ffn-hidden-size", "/model/ffn"},
    {"kv-channels", "/model/head_dim"},
    {"padded-vocab-size", "/model/vocab"},
    {"vocab-size", "/model/vocab"},
    {"seq-length", "/training/sequence_length"},
    {"micro-batch-size", "/training/micro_batch"},
    {"global-batch-size", "/training/global_batch"},
    {"tensor-model-parallel-size", "/parallel/tp"},
    {"pipeline-model-parallel-size", "/parallel/pp"},
    {"context-parallel-size", "/parallel/cp"},
    {"expert-model-parallel-size", "/parallel/ep"},
    {"ddp-bucket-size", "/strategy/bucket_elements"},
};
constexpr NumberRow kExpertNumbers[] = {
    {"num-experts", "/model/moe/experts"},
    {"moe-router-topk", "/model/moe/top_k"},
    {"moe-ffn-hidden-size", "/model/moe/expert_ffn"},
    {"moe-shared-expert-intermediate-size", "/model/moe/shared_ffn"},
};
constexpr NumberRow kLatentNumbers[] = {
    {"q-lora-rank", "/model/mla/q_lora_rank"}, {"kv-lora-rank", "/model/mla/kv_lora_rank"},
    {"qk-head-dim", "/model/mla/qk_nope_dim"}, {"qk-pos-emb-head-dim", "/model/mla/qk_rope_dim"},
    {"v-head-dim", "/model/mla/v_dim"},
};

class Megatron {
 public:
  Megatron(const Flags& flags, int line, Reading& reading)
      : flags_(flags), line_(line), reading_(reading) {}

  void apply() {
    for (const NumberRow& row : kNumbers) put_number(row);
    apply_model();
    apply_pipeline();
    apply_precision();
    apply_recompute();
    apply_data_parallelism();
    apply_rest();
    reading_.read.push_back(
        fmt::format("model, layout and training from Megatron-LM's flags (line {})", line_));
    for (const ProgramFlag& flag : flags_)
      if (!used_.contains(flag.name)) reading_.unused.push_back("--" + flag.name);
  }

 private:
  bool has(const char* name) {
    used_.insert(name);
    return find_flag(flags_, name) != nullptr;
  }
  std::string text(const char* name) {
    used_.insert(name);
    const ProgramFlag* flag = find_flag(flags_, name);
    return flag == nullptr || flag->values.empty() ? "" : flag->values.front();
  }
  std::optional<std::int64_t> number(const char* name, std::int64_t least = 1) {
    used_.insert(name);
    return flag_number(flags_, name, least, line_, reading_);
  }
  void put_number(const NumberRow& row) {
    if (const auto value = number(row.flag)) reading_.put(row.pointer, *value);
  }
  std::int64_t so_far(const char* pointer, std::int64_t otherwise) const {
    const Json::json_pointer at(pointer);
    return reading_.scenario.contains(at) && reading_.scenario.at(at).is_number_integer()
               ? reading_.scenario.at(at).get<std::int64_t>()
               : otherwise;
  }

  void apply_model() {
    const bool names_model = reading_.scenario.contains(Json::json_pointer("/model/preset"));
    if (names_model && !has("num-layers")) return;
    reading_.put("/model/kind", has("num-experts") ? "moe" : "transformer");
    if (has("group-query-attention"))
      reading_.put("/model/kv_heads", number("num-query-groups").value_or(1));
    apply_positions();
    reading_.put("/model/norm", text("normalization") == "RMSNorm" ? "rmsnorm" : "layernorm");
    reading_.put("/model/gated", has("swiglu"));
    reading_.put("/model/bias", !has("disable-bias-linear"));
    reading_.put("/model/tied_embedding", !has("untie-embeddings-and-output-weights"));
    const auto is_zero = [](const std::string& t) { return t == "0" || t == "0.0"; };
    const bool no_hidden = is_zero(text("hidden-dropout"));
    const bool no_attention = is_zero(text("attention-dropout"));
    reading_.put("/model/dropout", !(no_hidden && no_attention));
    if (has("num-experts")) apply_experts();
    if (has("multi-latent-attention"))
      for (const NumberRow& row : kLatentNumbers) put_number(row);
    if (!reading_.scenario.contains(Json::json_pointer("/model/vocab")) &&
        !reading_.is_set("/model/vocab"))
      apply_tokenizer();
  }
  /// The vocabulary of a tokenizer whose size its name fixes.
  void apply_tokenizer() {
    const std::string tokenizer = text("tokenizer-type");
    std::int64_t vocabulary = 0;
    if (tokenizer == "GPT2BPETokenizer") vocabulary = 50257;  // Radford et al. 2019
    if (tokenizer == "Llama2Tokenizer") vocabulary = 32000;   // Touvron et al. 2023
    if (vocabulary == 0) {
      reading_.problem(line_,
                       "the vocabulary is not said" +
                           (tokenizer.empty() ? "" : ", and " + tokenizer + " fits any size"),
                       "give it with --set /model/vocab=N, or the model with --model");
      return;
    }
    reading_.put("/model/vocab", vocabulary);
    reading_.read.push_back(
        fmt::format("vocabulary {} from {} (line {})", vocabulary, tokenizer, line_));
  }
  void apply_positions() {
    const std::string kind = text("position-embedding-type");
    const auto positions = number("max-position-embeddings");
    if (kind == "rope" || kind == "mrope" || has("use-rotary-position-embeddings")) {
      reading_.put("/model/rope", true);
    } else if (kind == "none" || has("no-position-embedding")) {
      reading_.put("/model/rope", false);
    } else if (positions) {  // learned_absolute, the default
      reading_.put("/model/max_positions", *positions);
    }
  }
  void apply_experts() {
    for (const NumberRow& row : kExpertNumbers) put_number(row);
    reading_.put("/model/moe/top_k", 2);  // --moe-router-topk's default
    if (const std::int64_t shared = so_far("/model/moe/shared_ffn", 0); shared > 0)
      reading_.put(
          "/model/moe/shared_experts",
          std::max<std::int64_t>(
              1, shared / std::max<std::int64_t>(1, so_far("/model/moe/expert_ffn", shared))));
    // Megatron's default is the tensor parallel size, stepcast's 1.
    reading_.put("/parallel/expert_tp",
                 number("expert-tensor-parallel-size").value_or(so_far("/parallel/tp", 1)));
    const std::string frequency = text("moe-layer-freq");
    if (frequency.empty()) return;
    if (const auto interval = whole_number(frequency, 1)) {
      reading_.put("/model/moe/layer_interval", *interval);
    } else if (const auto dense = leading_dense_layers(frequency)) {
      reading_.put("/model/moe/first_dense_layers", *dense);
    } else {
      reading_.unknown.push_back("which layers have experts: --moe-layer-freq " + frequency);
    }
  }

  void apply_pipeline() {
    const std::int64_t layers = so_far("/model/layers", 0), pp = so_far("/parallel/pp", 1);
    std::int64_t chunks = number("num-virtual-stages-per-pipeline-rank").value_or(1);
    if (const auto per_chunk = number("num-layers-per-virtual-pipeline-stage"))
      chunks = layers / (pp * *per_chunk);
    const std::string written = text("pipeline-model-parallel-layout");
    std::vector<int> counts;
    if (!written.empty()) {
      const auto layout = layers_of_layout(written);
      if (!layout || static_cast<std::int64_t>(layout->size()) % pp != 0)
        reading_.problem(line_, "--pipeline-model-parallel-layout " + written +
                                    " does not deal its chunks to " + std::to_string(pp) +
                                    " stages");
      else {
        counts = *layout;
        chunks = static_cast<std::int64_t>(counts.size()) / pp;
      }
    }
    const auto first = number("decoder-first-pipeline-num-layers"),
               last = number("decoder-last-pipeline-num-layers");
    if ((first || last) && pp > 1) counts = uneven_ends(layers, pp, first, last);
    if (!counts.empty()) reading_.put("/parallel/layers_per_stage", counts);
    if (chunks > 1) {
      reading_.put("/parallel/virtual_stages", chunks);
      reading_.put("/parallel/schedule", "interleaved");
    }
    if (has("no-overlap-p2p-communication")) reading_.put("/strategy/overlap_p2p", false);
  }
  static std::vector<int> uneven_ends(std::int64_t layers, std::int64_t pp,
                                      std::optional<std::int64_t> first,
                                      std::optional<std::int64_t> last) {
    const std::int64_t middle_stages = pp - (first ? 1 : 0) - (last ? 1 : 0);
    const std::int64_t left = layers - first.value_or(0) - last.value_or(0);
    const std::int64_t each = middle_stages > 0 ? left / middle_stages : 0;
    std::vector<int> counts(static_cast<std::size_t>(pp), static_cast<int>(each));
    if (first) counts.front() = static_cast<int>(*first);
    if (last) counts.back() = static_cast<int>(*last);
    return counts;
  }

  void apply_precision() {
    const bool is_fp8 = has("fp8-format"), is_bf16 = has("bf16"), is_fp16 = has("fp16");
    reading_.put("/training/precision", is_fp8    ? "fp8"
                                        : is_bf16 ? "bf16"
                                        : is_fp16 ? "fp16"
                                                  : "fp32");
    if (is_fp8 && text("fp8-recipe") == "tensorwise")
      reading_.put("/training/narrow_scaling", "dynamic");
    // bf16 accumulates in fp32 unless told otherwise (arguments.py, validate_args).
    const bool asks_fp32 = has("accumulate-allreduce-grads-in-fp32");
    const bool asks_bf16 = has("grad-reduce-in-bf16");
    reading_.put("/training/gradient_precision", asks_bf16               ? "bf16"
                                                 : is_fp16 && !asks_fp32 ? "fp16"
                                                                         : "fp32");
  }

  void apply_recompute() {
    const std::string granularity = text("recompute-granularity"),
                      method = text("recompute-method");
    const auto layers = number("recompute-num-layers");
    if (granularity == "selective" || has("recompute-activations"))
      reading_.put("/training/recompute", "selective");
    if (granularity != "full") return;
    reading_.put("/training/recompute", "full");
    if (method == "block" && layers) reading_.put("/training/recompute_layers", *layers);
    if (method == "uniform" && layers.value_or(1) > 1)
      reading_.assumed.push_back(
          fmt::format("recomputation keeps the input of every block; --recompute-num-layers {} "
                      "keeps fewer",
                      *layers));
  }

  void apply_data_parallelism() {
    const std::string sharding = text("data-parallel-sharding-strategy");
    const bool is_fsdp = has("use-megatron-fsdp") || has("use-custom-fsdp");
    const bool is_torch_fsdp = has("use-torch-fsdp2");
    const bool has_sharded_optimizer = has("use-distributed-optimizer");
    const int stage = (is_fsdp && sharding == "optim_grads_params") || is_torch_fsdp ? 3
                      : is_fsdp && sharding == "optim_grads"                         ? 2
                      : has_sharded_optimizer                                        ? 1
                                                                                     : 0;
    reading_.put("/parallel/zero_stage", stage);
    reading_.put("/strategy/overlap_grad_reduce", has("overlap-grad-reduce"));
    if (has("overlap-param-gather") && stage > 0)
      reading_.put("/strategy/overlap_param_gather", true);
    else
      reading_.put("/strategy/overlap_param_gather", false);
    if (has("optimizer-cpu-offload")) reading_.put("/strategy/offload", "optimizer");
    if (const auto copies = number("num-distributed-optimizer-instances"); copies && *copies > 1)
      optimizer_copies_ = *copies;
  }

 public:
  std::int64_t optimizer_copies() const { return optimizer_copies_; }

 private:
  void apply_rest() {
    if (has("sequence-parallel")) reading_.put("/parallel/sequence_parallel", true);
    if (has("use-tp-pp-dp-mapping")) reading_.put("/parallel/rank_order", "tp-cp-ep-pp-dp");
    if (text("cp-comm-type") == "a2a") reading_.put("/parallel/context", "all-to-all");
    if (const std::string optimizer = text("optimizer"); optimizer == "sgd" || optimizer == "adam")
      reading_.put("/training/optimizer", optimizer);
    if (const std::string clip = text("clip-grad"); clip == "0" || clip == "0.0")
      reading_.put("/training/gradient_clip", false);
    const std::string backend = text("attention-backend");
    if (backend == "unfused" || backend == "local") reading_.put("/training/attention", "unfused");
    if (has("no-gradient-accumulation-fusion"))
      reading_.put("/training/fused_gradient_accumulation", false);
    reading_.put("/training/fused_loss", has("cross-entropy-loss-fusion"));
    const bool eager_gelu = has("no-bias-gelu-fusion"), eager_swiglu = has("no-bias-swiglu-fusion"),
               eager_softmax = has("no-masked-softmax-fusion"),
               eager_dropout = has("no-bias-dropout-fusion"), eager_rope = has("no-rope-fusion");
    if ((eager_gelu || eager_swiglu) && eager_softmax && eager_dropout && eager_rope)
      reading_.put("/training/fusion", "eager");
    if (const std::string factor = text("moe-expert-capacity-factor"); !factor.empty())
      if (const Json parsed = Json::parse(factor, nullptr, false); parsed.is_number())
        reading_.put("/model/moe/capacity_factor", parsed);
    if (has("tp-comm-overlap"))
      reading_.unknown.emplace_back(
          "the share of tensor-parallel communication that --tp-comm-overlap hides; "
          "strategy.tp_overlap stays 0");
    for (const char* implied : {"moe-token-dispatcher-type", "moe-grouped-gemm",
                                "moe-pad-expert-input-to-capacity", "num-query-groups"})
      used_.insert(implied);
  }

  const Flags& flags_;
  int line_;
  Reading& reading_;
  std::set<std::string> used_;
  std::int64_t optimizer_copies_ = 1;
};
}  // namespace

bool is_megatron(const LaunchLine& line, const Flags& flags) {
  const std::string program = line.program.substr(line.program.rfind('/') + 1);
  return find_flag(flags, "tensor-model-parallel-size") != nullptr ||
         find_flag(flags, "pipeline-model-parallel-size") != nullptr ||
         ((program == "pretrain_gpt.py" || program == "pretrain_bert.py") &&
          find_flag(flags, "num-layers") != nullptr);
}

void apply_megatron(const Flags& flags, std::int64_t world, int line, Reading& reading) {
  Megatron megatron(flags, line, reading);
  megatron.apply();
  const auto size = [&](const char* key) {
    const Json::json_pointer at(std::string("/parallel/") + key);
    return reading.scenario.contains(at) ? reading.scenario.at(at).get<std::int64_t>() : 1;
  };
  const std::int64_t replicas = world / std::max<std::int64_t>(1, size("tp") * size("pp"));
  if (megatron.optimizer_copies() > 1)
    reading.put("/parallel/shard_size", replicas / megatron.optimizer_copies());
}
}  // namespace stepcast::k8s
