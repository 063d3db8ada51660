#include <map>

#include "sim/core/assert.hpp"
#include "sim/graph/batch_load.hpp"
#include "sim/graph/gradient_buckets.hpp"
#include "sim/graph/gradient_reduce.hpp"
#include "sim/graph/pipeline_messages.hpp"
#include "sim/graph/program_writer.hpp"
#include "sim/graph/stage_programs.hpp"
#include "sim/graph/step_end.hpp"
#include "sim/timeline/op_names.hpp"

namespace stepcast {
namespace {

class ReplicatedProgram {
 public:
  explicit ReplicatedProgram(const StageContext& context)
      : context_(context),
        messages_(context, writer_),
        gathers_(static_cast<std::size_t>(context.chunks())) {}

  StageGraph build() {
    gather_updated_parameters();
    const std::vector<Work>& schedule = context_.schedule();
    for (std::size_t i = 0; i < schedule.size(); ++i) {
      const Work& work = schedule[i];
      std::vector<int> received = messages_.receive_for(work);
      load_batch(context_, writer_, work, received);
      int done = -1;
      if (work.is_forward())
        done = forward(work, received);
      else if (completes_gradients(i))
        done = reducing_backward(work, received);
      else
        done = writer_.work(list_of(work), received, work.micro_batch, work.chunk);
      messages_.send_from(work, done);
    }
    for (const GradientBucket& bucket : late_)
      reduce_bucket(context_, writer_, bucket, {writer_.last_on(Lane::compute)});
    find_unused_parameters();
    end_step(context_, writer_);
    return writer_.take();
  }

 private:
  /// DDP with find_unused_parameters: ranks agree on who used which parameter by summing a map of
  /// one int32 per tensor, after the last bucket (torch/csrc/distributed/c10d/reducer.cpp,
  /// all_reduce_local_used_map).
  void find_unused_parameters() {
    if (!context_.scenario().strategy.find_unused_parameters ||
        !context_.scenario().sync.is_lockstep() ||
        group_size(GroupKind::dp, context_.layout()) == 1)
      return;
    std::int64_t tensors = 0;
    for (int chunk = 0; chunk < context_.chunks(); ++chunk)
      tensors += static_cast<std::int64_t>(
          tensors_of(context_, context_.layers_of(chunk), BackwardPart::whole).size());
    writer_.collective(op::grad_reduce, Lane::gradient, Category::exposed_dp,
                       Collective::all_reduce, GroupKind::dp,
                       Bytes(4 * std::max<std::int64_t>(1, tensors)),
                       {writer_.last_on(Lane::compute)});
  }

  struct ParameterGather {
    std::size_t first_layer = 0;
    std::vector<int> ops;
  };

  /// ZeRO-2 keeps gradients sharded, so it reduces every micro-batch; the others accumulate and
  /// reduce once. In a pipeline all accumulate: a reduction per micro-batch and stage would stall
  /// it.
  bool completes_gradients(std::size_t schedule_index) const {
    const Work::Kind kind = context_.schedule()[schedule_index].kind;
    if (kind == Work::Kind::backward_data) return false;
    if (context_.layout().zero_stage == 2 && context_.layout().pp == 1) return true;
    return context_.is_last_backward_of_chunk(schedule_index);
  }

  /// overlap_param_gather: the gather of the previous step's update, issued at the step's begin in
  /// forward order. It is cut into buckets of bucket_bytes so that the first layers need not wait
  /// for the last ones' parameters.
  void gather_updated_parameters() {
    const ParallelLayout& layout = context_.layout();
    if (!context_.scenario().strategy.overlap_param_gather ||
        (layout.zero_stage != 1 && layout.zero_stage != 2))
      return;
    const std::int64_t limit = context_.scenario().strategy.bucket_bytes.value;
    for (int chunk = 0; chunk < context_.chunks(); ++chunk) {
      const std::vector<int>& layers = context_.layers_of(chunk);
      std::int64_t dense = 0, experts = 0;
      std::size_t first = 0;
      for (std::size_t i = 0; i < layers.size(); ++i) {
        dense += context_.kind(layers[i]).dense_parameters;
        experts += context_.kind(layers[i]).expert_parameters;
        const bool is_full =
            limit > 0 && (dense + experts) * context_.gradient_element_bytes() >= limit;
        if (!is_full && i + 1 < layers.size()) continue;
        ParameterGather gather{first, {}};
        for (const int op : {gather_parameters(context_, writer_, GroupKind::dp, dense, {}),
                             gather_parameters(context_, writer_, GroupKind::edp, experts, {})})
          if (op >= 0) gather.ops.push_back(op);
        if (!gather.ops.empty())
          gathers_[static_cast<std::size_t>(chunk)].push_back(std::move(gather));
        dense = experts = 0;
        first = i + 1;
      }
    }
  }

  std::vector<Op> forward_ops(int chunk, std::size_t first, std::size_t last) const {
    std::vector<Op> ops;
    for (std::size_t i = first; i < last; ++i) {
      const LayerWork& layer = context_.kind(context_.layers_of(chunk)[i]);
      ops.insert(ops.end(), layer.forward.begin(), layer.forward.end());
    }
    return ops;
  }

  int forward(const Work& work, std::vector<int> after) {
    std::vector<ParameterGather>& gathers = gathers_[static_cast<std::size_t>(work.chunk)];
    if (gathers.empty())
      return writer_.work(list_of(work), std::move(after), work.micro_batch, work.chunk);
    int done = -1;
    const std::size_t layers = context_.layers_of(work.chunk).size();
    for (std::size_t piece = 0; piece < gathers.size(); ++piece) {
      const std::size_t from = piece == 0 ? 0 : gathers[piece].first_layer;
      const std::size_t to = piece + 1 < gathers.size() ? gathers[piece + 1].first_layer : layers;
      after.insert(after.end(), gathers[piece].ops.begin(), gathers[piece].ops.end());
      done = writer_.work(writer_.add_list(phase::forward, forward_ops(work.chunk, from, to)),
                          std::move(after), work.micro_batch, work.chunk);
      after.clear();
    }
    gathers.clear();  // the parameters are there for every later micro-batch
    return done;
  }

  /// A backward cut where its gradient buckets are complete, each bucket leaving at its cut.
  /// Returns the last piece.
  int reducing_backward(const Work& work, std::vector<int> after) {
    const StrategySpec& strategy = context_.scenario().strategy;
    const BackwardPart part =
        work.kind == Work::Kind::backward ? BackwardPart::whole : BackwardPart::weight;
    const bool overlaps = strategy.overlap_grad_reduce;
    // Without overlap nothing is gained by leaving early, and frameworks reduce the whole buffer at
    // once.
    const std::vector<GradientBucket> buckets =
        context_.plan() != nullptr
            ? planned_buckets(context_, context_.layers_of(work.chunk), part, *context_.plan())
            : gradient_buckets(context_, context_.layers_of(work.chunk), part,
                               overlaps ? strategy.bucket_bytes : Bytes(0),
                               overlaps ? strategy.first_bucket_bytes : Bytes(0));
    if (!overlaps) {
      const int done = writer_.work(list_of(work), std::move(after), work.micro_batch, work.chunk);
      if (!is_accumulating()) {
        for (const GradientBucket& bucket : buckets)
          reduce_bucket(context_, writer_, bucket, {done});
        if (const int last = writer_.last_on(Lane::gradient); last >= 0) writer_.hold_compute(last);
      } else {
        late_.insert(late_.end(), buckets.begin(), buckets.end());
      }
      return done;
    }
    const Pieces& pieces = pieces_of(work.chunk, part, buckets);
    std::size_t next = 0;
    int done = -1;
    for (std::size_t piece = 0; piece < pieces.lists.size(); ++piece) {
      done = writer_.work(pieces.lists[piece], std::move(after), work.micro_batch, work.chunk);
      after.clear();
      for (; next < buckets.size() && buckets[next].complete_after <= pieces.ends[piece]; ++next)
        reduce_bucket(context_, writer_, buckets[next], {done});
    }
    STEPCAST_ASSERT(next == buckets.size(), "the last piece ends where the backward ends");
    return done;
  }
  bool is_accumulating() const {
    return !(context_.layout().zero_stage == 2 && context_.layout().pp == 1);
  }

  struct Pieces {
    std::vector<int> lists;
    std::vector<std::size_t> ends;
  };
  const Pieces& pieces_of(int chunk, BackwardPart part,
                          const std::vector<GradientBucket>& buckets) {
    const auto [at, is_new] = pieces_.try_emplace(chunk);
    Pieces& pieces = at->second;
    if (!is_new) return pieces;
    const std::vector<Op> ops = backward_ops(context_, context_.layers_of(chunk), part);
    const std::string_view name =
        part == BackwardPart::whole ? phase::backward : phase::backward_weight;
    for (const GradientBucket& bucket : buckets)
      if (bucket.complete_after > 0 &&
          (pieces.ends.empty() || pieces.ends.back() < bucket.complete_after))
        pieces.ends.push_back(bucket.complete_after);
    if (pieces.ends.empty() || pieces.ends.back() < ops.size()) pieces.ends.push_back(ops.size());
    std::size_t from = 0;
    for (std::size_t to : pieces.ends) {
      pieces.lists.push_back(
          writer_.add_list(name, {ops.begin() + static_cast<std::ptrdiff_t>(from),
                                  ops.begin() + static_cast<std::ptrdiff_t>(to)}));
      from = to;
    }
    return pieces;
  }

  /// The list that every repetition of a whole pass shares.
  int list_of(const Work& work) {
    const auto [at, is_new] = lists_.try_emplace({work.kind, work.chunk}, -1);
    if (!is_new) return at->second;
    const std::vector<int>& layers = context_.layers_of(work.chunk);
    switch (work.kind) {
      case Work::Kind::forward:
        at->second = writer_.add_list(phase::forward, forward_ops(work.chunk, 0, layers.size()));
        break;
      case Work::Kind::backward:
        at->second =
            writer_.add_list(phase::backward, backward_ops(context_, layers, BackwardPart::whole));
        break;
      case Work::Kind::backward_data:
        at->second = writer_.add_list(phase::backward_data,
                                      backward_ops(context_, layers, BackwardPart::data));
        break;
      case Work::Kind::backward_weight:
        at->second = writer_.add_list(phase::backward_weight,
                                      backward_ops(context_, layers, BackwardPart::weight));
        break;
    }
    return at->second;
  }

  const StageContext& context_;
  ProgramWriter writer_;
  PipelineMessages messages_;
  std::vector<std::vector<ParameterGather>> gathers_;  // per chunk, until its first forward
  std::vector<GradientBucket> late_;                   // reduced after every backward
  std::map<std::pair<Work::Kind, int>, int> lists_;
  std::map<int, Pieces> pieces_;
};
}  // namespace

StageGraph replicated_program(const StageContext& context) {
  return ReplicatedProgram(context).build();
}
}  // namespace stepcast
