#include <algorithm>
#include <map>

#include "sim/graph/batch_load.hpp"
#include "sim/graph/gradient_buckets.hpp"
#include "sim/graph/gradient_reduce.hpp"
#include "sim/graph/offload.hpp"
#include "sim/graph/pipeline_messages.hpp"
#include "sim/graph/program_writer.hpp"
#include "sim/graph/stage_programs.hpp"
#include "sim/graph/step_end.hpp"
#include "sim/timeline/op_names.hpp"

namespace stepcast {
namespace {

/// One pass over one layer, in the order of the compute lane.
struct LayerUse {
  std::size_t schedule_index = 0;
  std::size_t layer = 0;  // in the chunk
  bool gathers = false, reduces = false, opens_pass = false, closes_pass = false;
};

/// ZeRO-3 / FSDP: a layer's parameters exist only while it runs.
///
///   gather   AG0 AG1    AG2    AG3 ...            prefetch = 1: the gather of layer i+1 runs
///   beside layer i compute      F0     F1     F2  F3 B3  B2 ... gradient RS3 RS2 ...
///
/// Sources: Zhao et al., "PyTorch FSDP", VLDB 2023; torch.distributed.fsdp (forward: next layer's
/// gather is issued before this layer's compute; backward prefetch likewise; the gather of a
/// forward's first layer waits for the compute stream).
class ShardedProgram {
 public:
  explicit ShardedProgram(const StageContext& context)
      : context_(context), messages_(context, writer_) {}

  StageGraph build() {
    plan();
    const auto prefetch =
        static_cast<std::size_t>(std::max(0, context_.scenario().strategy.prefetch));
    std::vector<std::vector<int>> gathered(uses_.size());
    std::vector<int> compute(uses_.size(), -1), received;
    std::size_t next_gather = 0;
    for (std::size_t u = 0; u < uses_.size(); ++u) {
      const LayerUse& use = uses_[u];
      const Work& work = context_.schedule()[use.schedule_index];
      if (use.opens_pass) {
        received = messages_.receive_for(work);
        load_batch(context_, writer_, work, received);
      }
      // A forward opens with the root's wait for the compute stream: nothing of it is gathered
      // earlier.
      for (; next_gather < uses_.size() && next_gather <= u + prefetch; ++next_gather) {
        if (next_gather > u && starts_forward(next_gather)) break;
        if (!uses_[next_gather].gathers) continue;
        gathered[next_gather] =
            gather(uses_[next_gather], u > 0 ? std::vector{compute[u - 1]} : std::vector<int>{});
      }
      std::vector<int> after = std::move(gathered[u]);
      after.insert(after.end(), received.begin(), received.end());
      received.clear();
      compute[u] =
          writer_.work(list_of(work, use.layer), std::move(after), work.micro_batch, work.chunk);
      if (use.reduces) reduce(use, compute[u]);
      if (use.closes_pass) messages_.send_from(work, compute[u]);
    }
    for (const GradientBucket& bucket : late_)
      reduce_bucket(context_, writer_, bucket, {writer_.last_on(Lane::compute)});
    end_step(context_, writer_);
    return writer_.take();
  }

 private:
  const Work& work_of(const LayerUse& use) const { return context_.schedule()[use.schedule_index]; }
  const LayerWork& layer_of(const LayerUse& use) const {
    return context_.kind(context_.layers_of(work_of(use).chunk)[use.layer]);
  }
  bool starts_forward(std::size_t u) const {
    return uses_[u].opens_pass && work_of(uses_[u]).is_forward();
  }

  /// Every layer use of the step, and which of them gather and reduce. In a pipeline gradients are
  /// reduced by each chunk's last backward only; otherwise every micro-batch reduces, since nobody
  /// has room for whole gradients.
  void plan() {
    const StrategySpec& strategy = context_.scenario().strategy;
    std::map<std::pair<int, std::size_t>, bool> is_whole;  // (chunk, layer): parameters are there
    for (std::size_t i = 0; i < context_.schedule().size(); ++i) {
      const Work& work = context_.schedule()[i];
      const std::size_t layers = context_.layers_of(work.chunk).size();
      const bool makes_gradients =
          work.kind == Work::Kind::backward || work.kind == Work::Kind::backward_weight;
      for (std::size_t k = 0; k < layers; ++k) {
        LayerUse use{i, work.is_forward() ? k : layers - 1 - k};
        use.opens_pass = k == 0;
        use.closes_pass = k + 1 == layers;
        bool& whole = is_whole[{work.chunk, use.layer}];
        use.gathers = !whole;
        // A pipeline keeps gathered parameters until the chunk's last backward unless forward
        // reshards them.
        const bool last_use = context_.is_last_backward_of_chunk(i);
        whole = work.is_forward()
                    ? !strategy.reshard_after_forward
                    : context_.layout().pp > 1 && !last_use && !strategy.reshard_after_forward;
        use.reduces = makes_gradients && (context_.layout().pp == 1 || last_use);
        uses_.push_back(use);
      }
    }
    // Resharding a layer that is used again at once would only gather it back: the last layer of a
    // forward that is followed by its own backward stays.
    for (std::size_t u = 1; u < uses_.size(); ++u) {
      const Work &before = work_of(uses_[u - 1]), &now = work_of(uses_[u]);
      if (before.chunk == now.chunk && uses_[u - 1].layer == uses_[u].layer &&
          before.micro_batch == now.micro_batch)
        uses_[u].gathers = false;
    }
  }

  std::vector<int> gather(const LayerUse& use, const std::vector<int>& after) {
    std::vector<int> ops;
    std::vector<int> ready = after;
    if (const int fetched = fetch_parameters(
            context_, writer_, layer_of(use).dense_parameters + layer_of(use).expert_parameters,
            after);
        fetched >= 0)
      ready = {fetched}, ops.push_back(fetched);
    for (const int op : {gather_parameters(context_, writer_, GroupKind::dp,
                                           layer_of(use).dense_parameters, ready),
                         gather_parameters(context_, writer_, GroupKind::edp,
                                           layer_of(use).expert_parameters, ready)})
      if (op >= 0) ops.push_back(op);
    return ops;
  }

  void reduce(const LayerUse& use, int done) {
    const Work& work = work_of(use);
    const BackwardPart part =
        work.kind == Work::Kind::backward ? BackwardPart::whole : BackwardPart::weight;
    const int kind = context_.layers_of(work.chunk)[use.layer];
    for (const GradientBucket& bucket :
         gradient_buckets(context_, {kind}, part, Bytes(0), Bytes(0))) {
      if (context_.scenario().strategy.overlap_grad_reduce)
        reduce_bucket(context_, writer_, bucket, {done});
      else
        late_.push_back(bucket);
    }
  }

  int list_of(const Work& work, std::size_t layer) {
    const int kind = context_.layers_of(work.chunk)[layer];
    const auto [at, is_new] = lists_.try_emplace({work.kind, kind}, -1);
    if (!is_new) return at->second;
    switch (work.kind) {
      case Work::Kind::forward:
        at->second = writer_.add_list(phase::forward, context_.kind(kind).forward);
        break;
      case Work::Kind::backward:
        at->second =
            writer_.add_list(phase::backward, backward_ops(context_, {kind}, BackwardPart::whole));
        break;
      case Work::Kind::backward_data:
        at->second = writer_.add_list(phase::backward_data,
                                      backward_ops(context_, {kind}, BackwardPart::data));
        break;
      case Work::Kind::backward_weight:
        at->second = writer_.add_list(phase::backward_weight,
                                      backward_ops(context_, {kind}, BackwardPart::weight));
        break;
    }
    return at->second;
  }

  const StageContext& context_;
  ProgramWriter writer_;
  PipelineMessages messages_;
  std::vector<LayerUse> uses_;
  std::vector<GradientBucket> late_;
  std::map<std::pair<Work::Kind, int>, int> lists_;
};
}  // namespace

StageGraph sharded_program(const StageContext& context) { return ShardedProgram(context).build(); }
}  // namespace stepcast
