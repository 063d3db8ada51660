#include "runtime/model/transformer.hpp"

#include "runtime/model/transformer_block.hpp"
#include "sim/core/assert.hpp"
#include "sim/timeline/op_names.hpp"
#include "sim/workload/transformer_layer.hpp"

namespace stepcast::runtime {
namespace {

class Transformer final : public Model {
 public:
  Transformer(Device& device, const TransformerPlan& plan, int slots, int micro_batches)
      : plan_(plan) {
    const TransformerSpec& m = plan_.model;
    const int tp = plan_.layout.tp, stage = plan_.at.pp, pp = plan_.layout.pp;
    const LayerRange range = blocks_of(stage, 0, static_cast<int>(m.layers), plan_.layout);
    has_embedding_ = stage == 0;
    has_head_ = stage == pp - 1;
    shape_ = {.B = plan_.training.micro_batch,
              .T = plan_.training.sequence_length,
              .C = m.hidden,
              .H = m.heads / tp,
              .K = m.kv_heads / tp,
              .D = m.head_dim,
              .F = m.ffn / tp,
              .gated = m.gated,
              .bias = m.bias,
              .rope = m.rope,
              .causal = m.causal,
              .norm = m.norm};
    padded_ = padded_vocabulary(m.vocab, tp);
    columns_ = padded_ / tp;
    first_column_ = plan_.at.tp * columns_;
    valid_ = std::clamp<std::int64_t>(m.vocab - first_column_, 0, columns_);

    const double deviation = 0.02;
    const auto table = [&](const char* name) {
      return parameters_.add({.name = name,
                              .rows = columns_,
                              .columns = shape_.C,
                              .pieces = {{columns_, first_column_}},
                              .deviation = deviation,
                              .is_replicated = tp == 1});
    };
    if (has_embedding_) {
      table_ = table("embedding.weight");
      if (m.max_positions > 0)
        positions_ = parameters_.add({.name = "position.weight",
                                      .rows = m.max_positions,
                                      .columns = shape_.C,
                                      .deviation = deviation});
    }
    for (int block = range.first; block < range.last; ++block)
      blocks_.push_back(add_block_parameters(parameters_, m, "block" + std::to_string(block) + ".",
                                             tp, plan_.at.tp));
    if (has_head_) {
      final_weight_ =
          parameters_.add({.name = "final_norm.weight", .columns = shape_.C, .constant = 1});
      if (m.norm == NormKind::layernorm)
        final_bias_ = parameters_.add({.name = "final_norm.bias", .columns = shape_.C});
      head_ = m.tied_embedding && has_embedding_ ? table_ : table("head.weight");
    }

    const Precision p = plan_.training.precision;
    const std::int64_t activation = shape_.rows() * shape_.C, rows = shape_.rows();
    const bool recomputes = plan_.training.recompute == Recompute::full;
    work_ = std::make_unique<BlockWorkspace>(device, shape_, p);
    gradient_ = Buffer(device, activation, p);
    if (has_embedding_) dtable_ = Buffer(device, columns_ * shape_.C, Precision::fp32);
    for (int slot = 0; slot < slots; ++slot) {
      Slot& s = slots_.emplace_back();
      for (std::size_t block = 0; block <= blocks_.size(); ++block)
        s.x.emplace_back(device, activation, p);
      for (std::size_t block = 0;
           block < (recomputes ? std::min<std::size_t>(slot == 0, blocks_.size()) : blocks_.size());
           ++block)
        s.kept.emplace_back(device, shape_, p);
      if (!has_head_) continue;
      s.final_norm = Buffer(device, activation, p);
      s.mean = Buffer(device, rows, Precision::fp32);
      s.rstd = Buffer(device, rows, Precision::fp32);
      s.logits = Buffer(device, rows * columns_, p);
      s.statistics = Buffer(device, 3 * rows, Precision::fp32);
    }
    if (has_head_) losses_ = Buffer(device, rows * micro_batches, Precision::fp32);
  }

  Parameters& parameters() override { return parameters_; }
  std::vector<std::int64_t> ready_offsets() const override {
    const auto at = [this](std::size_t parameter) { return parameters_.list()[parameter].offset; };
    std::vector<std::int64_t> offsets;
    if (has_head_ && head_ != table_) offsets.push_back(at(head_));
    if (has_head_) offsets.push_back(at(final_weight_));
    for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block)
      for (const std::size_t parameter : {block->down, block->up, block->norm2_weight, block->out,
                                          block->qkv, block->norm1_weight})
        offsets.push_back(at(parameter));
    if (offsets.back() != 0) offsets.push_back(0);
    return offsets;
  }
  std::int64_t boundary_elements() const override { return shape_.rows() * shape_.C; }
  View losses(int micro_batch) const override {
    return has_head_ ? losses_.view(micro_batch * shape_.rows()) : View{};
  }
  std::int64_t loss_rows() const override { return shape_.rows(); }

  void forward(const LayerContext& c, const MicroBatch& batch, const StageTensors& stage) override {
    Slot& s = slots_[slot_index(batch.index)];
    if (has_embedding_)
      embed(c, batch, s);
    else
      c.device.copy(c.stream, s.x.front().data(), stage.input.data, s.x.front().bytes());
    for (std::size_t block = 0; block < blocks_.size(); ++block)
      block_forward(c, shape_, parameters_, blocks_[block], kept(s, block), *work_,
                    s.x[block].view(), s.x[block + 1].view());
    if (has_head_)
      head_forward(c, batch, s);
    else
      c.device.copy(c.stream, stage.output.data, s.x.back().data(), s.x.back().bytes());
  }

  void backward(const LayerContext& c, const MicroBatch& batch, const StageTensors& stage,
                float loss_scale, GradientSink* sink) override {
    Slot& s = slots_[slot_index(batch.index)];
    const View gradient = gradient_.view();
    if (has_head_)
      head_backward(c, batch, s, loss_scale, sink);
    else
      c.device.copy(c.stream, gradient_.data(), stage.output_gradient.data, gradient_.bytes());
    for (std::size_t block = blocks_.size(); block-- > 0;) {
      if (plan_.training.recompute == Recompute::full)
        block_forward(c, shape_, parameters_, blocks_[block], kept(s, block), *work_,
                      s.x[block].view(), s.x[block + 1].view());
      block_backward(c, shape_, parameters_, blocks_[block], kept(s, block), *work_,
                     s.x[block].view(), gradient, sink);
    }
    if (has_embedding_)
      embed_backward(c, batch, sink);
    else
      c.device.copy(c.stream, stage.input_gradient.data, gradient_.data(), gradient_.bytes());
  }

 private:
  struct Slot {
    std::vector<Buffer> x;  // (B, T, C): input of each block, and the last one's output
    std::vector<BlockActivations>
        kept;  // one per block; a single shared one when everything is recomputed
    Buffer final_norm, mean, rstd, logits, statistics;
  };
  std::size_t slot_index(int micro_batch) const {
    return static_cast<std::size_t>(micro_batch) % slots_.size();
  }
  BlockActivations& kept(Slot& slot, std::size_t block) {
    return plan_.training.recompute == Recompute::full ? slots_.front().kept.front()
                                                       : slot.kept[block];
  }

  void embed(const LayerContext& c, const MicroBatch& batch, Slot& s) {
    const View x = s.x.front().view();
    {
      const OpScope scope = c.op(op::embedding);
      c.kernels().embedding_forward(c.stream, batch.ids, parameters_.weight(table_), x,
                                    shape_.rows(), shape_.C, first_column_, columns_);
    }
    tensor_all_reduce(c, x, shape_.rows() * shape_.C);
    if (plan_.model.max_positions == 0) return;
    const OpScope scope = c.op(op::position);
    c.kernels().position_forward(c.stream, x, parameters_.weight(positions_), x, shape_.B, shape_.T,
                                 shape_.C);
  }
  void embed_backward(const LayerContext& c, const MicroBatch& batch, GradientSink* sink) {
    if (plan_.model.max_positions > 0) {
      const OpScope scope = c.op(op::position);
      c.kernels().position_backward(c.stream, gradient_.view(), parameters_.gradient(positions_),
                                    shape_.B, shape_.T, shape_.C);
    }
    {
      const OpScope scope = c.op(op::embedding);
      c.kernels().embedding_backward(c.stream, batch.ids, gradient_.view(), dtable_.view(),
                                     shape_.rows(), shape_.C, first_column_, columns_);
    }
    {
      const OpScope scope = c.op(op::grad_accumulate);
      c.kernels().accumulate(c.stream, dtable_.view(), parameters_.gradient(table_),
                             columns_ * shape_.C);
    }
    if (sink != nullptr) sink->ready_from(0);
  }

  NormCall final_norm(Slot& s) const {
    NormCall call{.kind = shape_.norm,
                  .rows = shape_.rows(),
                  .width = shape_.C,
                  .x = s.x.back().view(),
                  .weight = parameters_.weight(final_weight_),
                  .mean = s.mean.view(),
                  .rstd = s.rstd.view(),
                  .y = s.final_norm.view(),
                  .dy = work_->dnorm.view(),
                  .dx = gradient_.view(),
                  .dweight = parameters_.gradient(final_weight_)};
    if (shape_.norm == NormKind::layernorm) {
      call.bias = parameters_.weight(final_bias_);
      call.dbias = parameters_.gradient(final_bias_);
    }
    return call;
  }
  LinearCall head(Slot& s) const {
    return {.name = op::head,
            .split = WeightSplit::column,
            .rows = shape_.rows(),
            .out = columns_,
            .in = shape_.C,
            .x = s.final_norm.view(),
            .weight = parameters_.weight(head_),
            .y = s.logits.view(),
            .dy = s.logits.view(),
            .dx = work_->dnorm.view(),
            .dweight = parameters_.gradient(head_)};
  }
  void head_forward(const LayerContext& c, const MicroBatch& batch, Slot& s) {
    {
      const OpScope scope = c.op(op::final_norm);
      c.kernels().norm_forward(c.stream, final_norm(s));
    }
    linear_forward(c, head(s));
    const std::int64_t rows = shape_.rows();
    if (c.tensor_size() == 1) {
      const OpScope scope = c.op(op::loss);
      c.kernels().loss_forward(c.stream, s.logits.view(), batch.targets, losses(batch.index), rows,
                               columns_, valid_);
      return;
    }
    // Vocabulary split over ranks (Shoeybi 2019): maximum of each row over ranks, then its sum and
    // its target's logit.
    const View maxima = s.statistics.view(), sums = s.statistics.view(rows);
    {
      const OpScope scope = c.op(op::loss);
      c.kernels().split_loss_max(c.stream, s.logits.view(), maxima, rows, columns_, valid_);
    }
    tensor_all_reduce(c, maxima, rows, Reduction::max);
    {
      const OpScope scope = c.op(op::loss);
      c.kernels().split_loss_sum(c.stream, s.logits.view(), batch.targets, maxima, sums, rows,
                                 columns_, first_column_, valid_);
    }
    tensor_all_reduce(c, sums, 2 * rows);
    const OpScope scope = c.op(op::loss);
    c.kernels().split_loss_finish(c.stream, s.logits.view(), maxima, sums, losses(batch.index),
                                  rows, columns_, first_column_, valid_);
  }
  void head_backward(const LayerContext& c, const MicroBatch& batch, Slot& s, float loss_scale,
                     GradientSink* sink) {
    {
      const OpScope scope = c.op(op::loss);
      c.kernels().split_loss_backward(c.stream, s.logits.view(), batch.targets,
                                      loss_scale / static_cast<float>(shape_.rows()), shape_.rows(),
                                      columns_, first_column_);
    }
    linear_backward(c, head(s));
    // A tied weight's gradient is complete after the embedding's backward.
    if (sink != nullptr && head_ != table_) sink->ready_from(parameters_.list()[head_].offset);
    {
      const OpScope scope = c.op(op::final_norm);
      c.kernels().norm_backward(c.stream, final_norm(s));
    }
    if (sink != nullptr) sink->ready_from(parameters_.list()[final_weight_].offset);
  }

  TransformerPlan plan_;
  bool has_embedding_ = false, has_head_ = false;
  BlockShape shape_;
  std::int64_t padded_ = 0, columns_ = 0, first_column_ = 0, valid_ = 0;
  Parameters parameters_;
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t table_ = kNone, positions_ = 0, final_weight_ = 0, final_bias_ = 0, head_ = 0;
  std::vector<BlockParameters> blocks_;
  std::vector<Slot> slots_;
  std::unique_ptr<BlockWorkspace> work_;
  Buffer gradient_;  // (B, T, C): the gradient on its way down
  Buffer losses_;    // (micro-batches, B, T)
  Buffer dtable_;    // (V, C) of this micro-batch, before it joins the accumulated gradient
};
}  // namespace

void check_transformer(const ModelSpec& model, const TrainingSpec& training,
                       const ParallelLayout& layout, Problems& problems) {
  const TransformerSpec& m = model.transformer;
  const auto refuse = [&](const char* place, const std::string& message, const std::string& hint) {
    problems.add({"training step", place, message, hint});
  };
  if (m.dropout)
    refuse("/model/dropout", "is true; the runtime's kernels have none", "set it to false");
  if (m.mla || m.moe)
    refuse("/model", "has experts or latent attention", "the runtime trains dense blocks");
  if (m.is_encoder_with_mlm_head || m.parallel_block)
    refuse("/model", "is an encoder or has parallel blocks",
           "the runtime trains GPT- and Llama-style decoders");
  if (!m.causal) refuse("/model/causal", "is false", "the runtime trains decoders");
  if (training.attention != AttentionKind::flash)
    refuse("/training/attention", "is unfused", "the runtime has the fused kernel");
  if (training.recompute == Recompute::selective)
    refuse("/training/recompute", "is selective; with fused attention there is nothing to select",
           "none or full");
  if (m.max_positions > 0 && m.max_positions != training.sequence_length)
    refuse("/model/max_positions", "differs from sequence_length",
           "make them equal, or use rotary positions");
  if (m.rope && m.head_dim % 2 != 0)
    refuse("/model/head_dim", "is odd; rotary positions turn pairs", "an even head dimension");
  if (layout.pp > 1 && m.tied_embedding)
    refuse("/model/tied_embedding", "is true with several pipeline stages", "set it to false");
}

std::unique_ptr<Model> new_transformer(Device& device, const TransformerPlan& plan, int slots,
                                       int micro_batches) {
  return std::make_unique<Transformer>(device, plan, slots, micro_batches);
}
}  // namespace stepcast::runtime
