#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/enum_text.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/workload/op.hpp"

namespace stepcast {

enum class ModelKind { transformer, moe, cnn, dlrm, custom };
template <>
struct EnumText<ModelKind> {
  static constexpr std::array<std::pair<ModelKind, std::string_view>, 5> table{
      {{ModelKind::transformer, "transformer"},
       {ModelKind::moe, "moe"},
       {ModelKind::cnn, "cnn"},
       {ModelKind::dlrm, "dlrm"},
       {ModelKind::custom, "custom"}}};
};
enum class NormKind { layernorm, rmsnorm };
template <>
struct EnumText<NormKind> {
  static constexpr std::array<std::pair<NormKind, std::string_view>, 2> table{
      {{NormKind::layernorm, "layernorm"}, {NormKind::rmsnorm, "rmsnorm"}}};
};

/// Multi-head latent attention (DeepSeek-V2): ranks of the compressed query and key/value.
struct LatentAttention {
  std::int64_t q_lora_rank = 0, kv_lora_rank = 512, qk_nope_dim = 128, qk_rope_dim = 64,
               v_dim = 128;
};
struct MixtureSpec {
  std::int64_t experts = 8, top_k = 2, shared_experts = 0;
  std::int64_t expert_ffn = 0;          // width of one expert
  std::int64_t shared_ffn = 0;          // total width of the shared experts
  std::int64_t first_dense_layers = 0;  // leading layers with a dense MLP
  std::int64_t layer_interval = 1;      // every n-th layer has experts
  double capacity_factor =
      0;                   // 0: dropless; else tokens per expert are padded to this times the mean
  double imbalance = 1.0;  // busiest rank's tokens over the mean
};
struct TransformerSpec {
  std::int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0, ffn = 0, vocab = 0;
  std::int64_t max_positions = 0;  // > 0: learned positions of that many rows
  bool rope = true;                // rotary positions; false with learned positions or ALiBi
  bool gated = false;              // SwiGLU-style MLP (three matrices)
  bool tied_embedding = true, bias = true, causal = true, dropout = false;
  bool parallel_block =
      false;  // attention and MLP read one norm and are summed (GPT-J, PaLM): half the collectives
  bool is_encoder_with_mlm_head = false;  // BERT: pooler and masked-token head
  NormKind norm = NormKind::layernorm;
  std::optional<LatentAttention> mla;
  std::optional<MixtureSpec> moe;
};
/// One convolution with its batch norm and activation; repeated blocks are written out.
struct ConvLayer {
  std::string name;
  std::int64_t c_in = 3, h = 0, w = 0, c_out = 0, kernel = 1, stride = 1, groups = 1;
  bool residual_add = false, squeeze_excite = false;
  std::int64_t kernel_w = 0;       // 0: square
  std::int64_t squeeze_width = 0;  // channels between the two squeeze-and-excite products
  std::int64_t pool = 1;           // stride of a pooling that follows
  bool batch_norm = true;          // false: a bias in its place
  bool activation = true;
};
struct CnnSpec {
  std::int64_t image = 224, classes = 1000;
  std::vector<ConvLayer> layers;
  std::int64_t features = 0;            // channels x positions that enter the classifier
  std::vector<std::int64_t> hidden_fc;  // widths of fully connected layers before the last
};
struct DlrmSpec {
  std::int64_t tables = 26, rows_per_table = 1'000'000, embedding_dim = 128, dense_features = 13;
  double pooling = 1;  // indices per sample and table
  std::vector<std::int64_t> bottom_mlp,
      top_mlp;  // widths of the layers; the last of bottom is embedding_dim, of top 1
  std::int64_t cross_layers = 0,
               cross_rank = 512;  // > 0: low-rank cross network (DCNv2) in place of dot products
};
/// A layer a user states in amounts; scaled by the micro-batch.
struct CustomLayer {
  std::string name;
  double forward_flops_per_sample = 0, bytes_per_sample = 0, activation_bytes_per_sample = 0;
  std::int64_t parameters = 0;
};

struct ModelSpec {
  std::string name;  // preset or "custom"
  ModelKind kind = ModelKind::transformer;
  TransformerSpec transformer;  // kind transformer and moe
  CnnSpec cnn;
  DlrmSpec dlrm;
  std::vector<CustomLayer> custom;
};

/// Reads the "model" object of a scenario after its preset was merged in. Reports every problem
/// through `reader`.
ModelSpec read_model(ObjectReader reader);
/// Total parameters of the whole model (all experts, embeddings once when tied).
std::int64_t parameter_count(const ModelSpec& model);
}  // namespace stepcast
