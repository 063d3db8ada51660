#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "sim/workload/model_work.hpp"
#include "sim/workload/shard.hpp"

namespace stepcast {

/// A piece of a layer: its forward, the backward that mirrors it, and what it keeps in between.
struct LayerPiece {
  std::vector<Op> forward, backward;  // each in issue order
  std::int64_t kept = 0;              // bytes kept from forward to backward
  bool is_attention_core =
      false;  // what selective recompute repeats (Korthikanti 2022): scores, softmax, values
  /// Bytes that each of the framework's matrix products in this piece puts out (query, key and
  /// value are three, although one GEMM stands for them), which selective recomputation of ops may
  /// keep.
  std::vector<std::int64_t> product_outputs;
  std::int64_t attention_output = 0;  // bytes that fused attention puts out; 0: another piece
};

/// Collects the pieces of a layer in forward order. The backward runs them in reverse.
class LayerBuilder {
 public:
  LayerBuilder(std::string name, const Shard& shard) : shard_(shard) {
    work_.name = std::move(name);
  }

  void add(LayerPiece piece) { pieces_.push_back(std::move(piece)); }
  void add_dense_parameters(std::int64_t elements) { work_.dense_parameters += elements; }
  void add_expert_parameters(std::int64_t elements) { work_.expert_parameters += elements; }
  /// Bytes live only while the layer runs; the largest one counts.
  void note_temporary(std::int64_t bytes) { temporary_ = std::max(temporary_, bytes); }

  /// `input` and `output`: bytes of the activation that enters and leaves. `mode`: none for layers
  /// that no framework recomputes (embedding, head).
  LayerWork finish(std::int64_t input, std::int64_t output, Recompute mode);

  const Shard& shard() const { return shard_; }

 private:
  /// What "selective" means: PyTorch code (eager or compiled) with fused attention repeats ops,
  /// Megatron the core of unfused attention.
  bool repeats_ops() const;
  std::int64_t keep_alternate_products();

  Shard shard_;
  LayerWork work_;
  std::vector<LayerPiece> pieces_;
  std::int64_t temporary_ = 0;
};
}  // namespace stepcast
