#include "runtime/model/recommender.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/model/dense_layer.hpp"
#include "runtime/model/interaction.hpp"
#include "sim/core/random.hpp"
#include "sim/timeline/op_names.hpp"

namespace stepcast::runtime {
namespace {

/// The tables of this rank and their exchange. All arrays in the order of travel: (owner's ranks,
/// their tables, B, ...).
class EmbeddingTables {
 public:
  EmbeddingTables(Device& device, Stream& setup, Communicator& world, const RecommenderPlan& plan)
      : world_(world), model_(plan.model), rate_(plan.table_rate), B_(plan.training.micro_batch) {
    per_rank_ = (model_.tables + world.size() - 1) / world.size();
    pooling_ = std::llround(model_.pooling);
    first_ = world.rank() * per_rank_;
    mine_ = std::clamp<std::int64_t>(model_.tables - first_, 0, per_rank_);
    weights_ = Buffer(device, mine_ * table_elements(), Precision::fp32);
    const std::int64_t rows = world.size() * per_rank_ * B_;
    asked_ = Buffer(device, Bytes(rows * pooling_ * 4));
    wanted_ = Buffer(device, Bytes(rows * pooling_ * 4));
    pooled_ = Buffer(device, rows * model_.embedding_dim, plan.training.precision);
    device.fill_zero(setup, asked_.data(), asked_.bytes());
    device.fill_zero(setup, pooled_.data(), pooled_.bytes());
    initialise(device, setup, plan.seed);
  }

  std::int64_t padded_tables() const { return per_rank_ * world_.size(); }
  View weights() const { return weights_.view(); }
  std::int64_t elements() const { return mine_ * table_elements(); }

  /// ids (tables, B, pooling) of this rank's samples -> bags (padded tables, B, d).
  void look_up(const LayerContext& c, View ids, View bags) {
    if (world_.size() > 1) {
      const OpScope scope = c.op(op::dispatch, Category::exposed_ep);
      c.device.copy(c.stream, asked_.data(), ids.data, Bytes(model_.tables * B_ * pooling_ * 4));
      world_.all_to_all(c.stream, asked_.view(), wanted_.view(),
                        ElementCount{per_rank_ * B_ * pooling_});
    }
    indices_ = world_.size() > 1 ? wanted_.view() : ids;
    const View found = world_.size() > 1 ? pooled_.view() : bags;
    {
      const OpScope scope = c.op(op::embedding_bag);
      for_bags([&](EmbeddingBagCall call, std::int64_t at) {
        call.y = found.at(at);
        c.kernels().embedding_bag_forward(c.stream, call);
      });
    }
    if (world_.size() == 1) return;
    const OpScope scope = c.op(op::combine, Category::exposed_ep);
    world_.all_to_all(c.stream, pooled_.view(), bags,
                      ElementCount{per_rank_ * B_ * model_.embedding_dim});
  }
  /// The bags' gradients to the tables' owners, who move the rows that were looked up.
  void update(const LayerContext& c, View dbags) {
    View gradient = dbags;
    if (world_.size() > 1) {
      const OpScope scope = c.op(op::combine, Category::exposed_ep);
      world_.all_to_all(c.stream, dbags, pooled_.view(),
                        ElementCount{per_rank_ * B_ * model_.embedding_dim});
      gradient = pooled_.view();
    }
    const OpScope scope = c.op(op::table_update);
    for_bags([&](EmbeddingBagCall call, std::int64_t at) {
      call.dy = gradient.at(at);
      call.learning_rate = rate_;
      c.kernels().embedding_bag_update(c.stream, call);
    });
  }

 private:
  std::int64_t table_elements() const { return model_.rows_per_table * model_.embedding_dim; }
  /// Calls each(call, place of its bags) for every rank that asks and every table here.
  template <class Each>
  void for_bags(Each each) const {
    for (int asking = 0; asking < world_.size(); ++asking)
      for (std::int64_t table = 0; table < mine_; ++table) {
        const std::int64_t bag = (asking * per_rank_ + table) * B_;
        each(EmbeddingBagCall{.samples = B_,
                              .pooling = pooling_,
                              .rows = model_.rows_per_table,
                              .width = model_.embedding_dim,
                              .table = weights_.view(table * table_elements()),
                              .indices = indices_.at(bag * pooling_)},
             bag * model_.embedding_dim);
      }
  }
  /// Uniform within 1 / sqrt(rows), the reference's start; of (seed, table, element) alone.
  void initialise(Device& device, Stream& setup, std::uint64_t seed) {
    const auto bound = 1.0 / std::sqrt(static_cast<double>(model_.rows_per_table));
    std::vector<float> values(static_cast<std::size_t>(table_elements()));
    for (std::int64_t table = 0; table < mine_; ++table) {
      const std::uint64_t key =
          mixed_bits(seed ^ 0x7ab1e5ULL, static_cast<std::uint64_t>(first_ + table));
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] =
            static_cast<float>(bound * (2.0 * uniform_from_bits(mixed_bits(key + i)) - 1.0));
      device.copy(setup, weights_.view(table * table_elements()).data, values.data(),
                  Bytes(table_elements() * 4));
      setup.synchronise();
    }
  }

  Communicator& world_;
  DlrmSpec model_;
  float rate_;
  std::int64_t B_, per_rank_ = 0, pooling_ = 1, first_ = 0, mine_ = 0;
  Buffer weights_;         // (tables here, rows, d) fp32
  Buffer asked_, wanted_;  // indices: of my samples by owner, of everyone's samples in my tables
  Buffer pooled_;          // (asking rank, tables here, B, d)
  View indices_;           // of the last lookup
};

class Recommender final : public Model {
 public:
  Recommender(Device& device, Stream& setup, Communicator& world, const RecommenderPlan& plan)
      : plan_(plan),
        B_(plan.training.micro_batch),
        tables_(device, setup, world, plan),
        interaction_(device, setup,
                     {.B = B_,
                      .tables = plan.model.tables,
                      .padded_tables = tables_.padded_tables(),
                      .d = plan.model.embedding_dim},
                     plan.training.precision) {
    const Precision p = plan.training.precision;
    const std::int64_t pairs = (plan.model.tables + 1) * plan.model.tables / 2;
    bottom_ = mlp(device, op::bottom_mlp, plan.model.dense_features, plan.model.bottom_mlp, false);
    top_ = mlp(device, op::top_mlp, plan.model.embedding_dim + pairs, plan.model.top_mlp, true);
    losses_ = Buffer(device, B_ * plan.micro_batches, Precision::fp32);
    dlogits_ = Buffer(device, B_, p);
  }

  Parameters& parameters() override { return parameters_; }
  std::vector<std::int64_t> ready_offsets() const override {
    std::vector<std::int64_t> offsets;
    for (const Mlp* stack : {&top_, &bottom_})
      for (auto layer = stack->layers.rbegin(); layer != stack->layers.rend(); ++layer)
        offsets.push_back(layer->offset(parameters_));
    return offsets;
  }
  View losses(int micro_batch) const override { return losses_.view(micro_batch * B_); }
  std::int64_t loss_rows() const override { return B_; }
  View local_tables() const override { return tables_.weights(); }
  std::int64_t local_table_elements() const override { return tables_.elements(); }

  void forward(const LayerContext& c, const MicroBatch& batch, const StageTensors&) override {
    bottom_.forward(c, parameters_, batch.dense, interaction_.bottom());
    tables_.look_up(c, batch.ids, interaction_.bags());
    interaction_.forward(c);
    top_.forward(c, parameters_, interaction_.output(), top_.outputs.back().view());
    const OpScope scope = c.op(op::loss);
    c.kernels().binary_loss(c.stream, top_.outputs.back().view(), batch.targets,
                            losses(batch.index), dlogits_.view(), B_, 1.0f);
  }
  void backward(const LayerContext& c, const MicroBatch& batch, const StageTensors&,
                float loss_scale, GradientSink* sink) override {
    {
      const OpScope scope = c.op(op::loss);
      c.kernels().scale(c.stream, dlogits_.view(), loss_scale / static_cast<float>(B_), B_);
    }
    top_.backward(c, parameters_, interaction_.output(), dlogits_.view(), interaction_.doutput(),
                  sink);
    interaction_.backward(c);
    tables_.update(c, interaction_.dbags());
    bottom_.backward(c, parameters_, batch.dense, interaction_.dbottom(), {}, sink);
  }

 private:
  /// Layers in a row. outputs[i] is what layer i gives; its gradient stands beside it.
  struct Mlp {
    std::vector<DenseLayer> layers;
    std::vector<Buffer> outputs, gradients;
    /// The last layer writes `y`.
    void forward(const LayerContext& c, const Parameters& p, View x, View y) const {
      for (std::size_t i = 0; i < layers.size(); ++i)
        layers[i].forward(c, p, i == 0 ? x : outputs[i - 1].view(),
                          i + 1 == layers.size() ? y : outputs[i].view());
    }
    void backward(const LayerContext& c, const Parameters& p, View x, View dy, View dx,
                  GradientSink* sink) const {
      for (std::size_t i = layers.size(); i-- > 0;)
        layers[i].backward(c, p, i == 0 ? x : outputs[i - 1].view(),
                           i + 1 == layers.size() ? dy : gradients[i].view(),
                           i == 0 ? dx : gradients[i - 1].view(), sink);
    }
  };
  Mlp mlp(Device& device, std::string_view name, std::int64_t in,
          const std::vector<std::int64_t>& widths, bool is_top) {
    Mlp stack;
    const Precision p = plan_.training.precision;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      stack.layers.emplace_back(device, parameters_, std::string(name) + std::to_string(i),
                                DenseLayer::Shape{.name = name,
                                                  .rows = B_,
                                                  .in = in,
                                                  .out = widths[i],
                                                  .has_relu = !is_top || i + 1 < widths.size(),
                                                  .needs_input_grad = is_top || i > 0},
                                p);
      stack.outputs.emplace_back(device, B_ * widths[i], p);
      stack.gradients.emplace_back(device, B_ * widths[i], p);
      in = widths[i];
    }
    return stack;
  }

  RecommenderPlan plan_;
  std::int64_t B_;
  Parameters parameters_;
  EmbeddingTables tables_;
  Interaction interaction_;
  Mlp bottom_, top_;
  Buffer losses_, dlogits_;  // (micro-batches, B), (B)
};
}  // namespace

void check_recommender(const ModelSpec& model, const ParallelLayout& layout, Problems& problems) {
  const DlrmSpec& m = model.dlrm;
  const auto refuse = [&](const char* place, const char* message, const char* hint) {
    problems.add({"training step", place, message, hint});
  };
  if (m.cross_layers > 0)
    refuse("/model/cross_layers", "is a cross network", "the runtime takes dot products: 0");
  if (m.pooling != std::round(m.pooling) || m.pooling < 1)
    refuse("/model/pooling", "is not a whole number", "bags of a fixed number of indices");
  if (m.rows_per_table > 0x7fffffff)
    refuse("/model/rows_per_table", "does not fit into 32-bit indices", "fewer rows");
  if (m.top_mlp.back() != 1)
    refuse("/model/top_mlp", "does not end in 1", "one logit per sample: click or not");
  if (layout.tp > 1 || layout.pp > 1)
    refuse("/parallel", "asks for tensor or pipeline parallelism",
           "recommenders: dp, tables are dealt out over all ranks by themselves");
  if (layout.schedule == ScheduleKind::gpipe)
    refuse("/parallel/schedule", "keeps several micro-batches at once", "1f1b");
}

std::unique_ptr<Model> new_recommender(Device& device, Stream& setup, Communicator& world,
                                       const RecommenderPlan& plan) {
  return std::make_unique<Recommender>(device, setup, world, plan);
}
}  // namespace stepcast::runtime
