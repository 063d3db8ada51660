#include "runtime/step/optimizer.hpp"

#include <algorithm>

#include "runtime/device/kernels.hpp"
#include "sim/timeline/op_names.hpp"

namespace stepcast::runtime {

Optimizer::Optimizer(Device& device, Parameters& parameters, OptimizerScope scope,
                     OptimizerKind kind, const OptimizerSettings& settings)
    : device_(device),
      parameters_(parameters),
      scope_(std::move(scope)),
      kind_(kind),
      settings_(settings) {
  std::int64_t state = 0;
  if (scope_.shards) {
    for (const Bucket& bucket : scope_.buckets) {
      const std::int64_t part = bucket.part(scope_.data_size);
      updated_.push_back({bucket.begin + scope_.data_rank * part, part, state});
      state += part;
    }
  } else {
    updated_.push_back({0, parameters.elements(), 0});
    state = parameters.elements();
  }
  first_ = Buffer(device, state, Precision::fp32);
  if (kind_ == OptimizerKind::adam) second_ = Buffer(device, state, Precision::fp32);
  square_sum_ = Buffer(device, 1, Precision::fp32);

  // What enters the norm: the updated ranges, without tensors that another tensor-parallel rank
  // counts.
  std::vector<std::pair<std::int64_t, std::int64_t>> own = parameters.ranges(false);
  if (scope_.counts_replicated) {
    const auto shared = parameters.ranges(true);
    own.insert(own.end(), shared.begin(), shared.end());
    std::sort(own.begin(), own.end());
  }
  for (const Range& range : updated_)
    for (const auto& [begin, end] : own) {
      const std::int64_t from = std::max(begin, range.begin),
                         to = std::min(end, range.begin + range.elements);
      if (from >= to) continue;
      if (!counted_.empty() && counted_.back().begin + counted_.back().elements == from)
        counted_.back().elements += to - from;
      else
        counted_.push_back({from, to - from, 0});
    }
}

void Optimizer::clear_state(Stream& stream) {
  for (const Buffer* state : {&first_, &second_})
    if (state->data() != nullptr) device_.fill_zero(stream, state->data(), state->bytes());
}

void Optimizer::clip_gradients(Stream& stream) {
  if (settings_.clip_norm <= 0) return;
  Recorder& recorder = device_.recorder();
  {
    const OpScope scope(recorder, op::grad_norm, Category::optimizer);
    device_.fill_zero(stream, square_sum_.data(), square_sum_.bytes());
    if (scope_.counts_any)
      for (const Range& range : counted_)
        device_.kernels().square_sum(stream, parameters_.gradients(range.begin), square_sum_.view(),
                                     range.elements);
  }
  if (scope_.world != nullptr) {
    const OpScope scope(recorder, op::grad_norm, Category::optimizer);
    scope_.world->all_reduce(stream, square_sum_.view(), ElementCount{1});
  }
  const OpScope scope(recorder, op::clip, Category::optimizer);
  for (const Range& range : updated_)
    device_.kernels().clip(stream, parameters_.gradients(range.begin), square_sum_.view(),
                           settings_.clip_norm, range.elements);
}

void Optimizer::adam(Stream& stream, const Range& range, std::int64_t step) {
  device_.kernels().adam(stream, {.elements = range.elements,
                                  .master = parameters_.master(range.begin),
                                  .gradient = parameters_.gradients(range.begin),
                                  .first = first_.view(range.state),
                                  .second = second_.view(range.state),
                                  .weights = parameters_.weights(range.begin),
                                  .learning_rate = settings_.learning_rate,
                                  .weight_decay = settings_.weight_decay,
                                  .step = step});
}
void Optimizer::sgd(Stream& stream, const Range& range) {
  device_.kernels().sgd(stream, {.elements = range.elements,
                                 .master = parameters_.master(range.begin),
                                 .gradient = parameters_.gradients(range.begin),
                                 .velocity = first_.view(range.state),
                                 .weights = parameters_.weights(range.begin),
                                 .learning_rate = settings_.learning_rate,
                                 .momentum = settings_.momentum,
                                 .weight_decay = settings_.weight_decay});
}
void Optimizer::update_parameters(Stream& stream, std::int64_t step) {
  Recorder& recorder = device_.recorder();
  const bool is_adam = kind_ == OptimizerKind::adam;
  {
    const OpScope scope(recorder, is_adam ? op::adam : op::sgd, Category::optimizer);
    for (const Range& range : updated_) is_adam ? adam(stream, range, step) : sgd(stream, range);
  }
  const OpScope scope(recorder, op::zero_grad, Category::optimizer);
  device_.fill_zero(stream, parameters_.gradients().data, Bytes(parameters_.elements() * 4));
}

void Optimizer::gather_parameters(Stream& stream, Communicator& data_parallel) {
  if (!scope_.shards || data_parallel.size() == 1) return;
  const OpScope scope(device_.recorder(), op::param_gather, Category::exposed_dp);
  for (const Bucket& bucket : scope_.buckets) {
    const std::int64_t part = bucket.part(scope_.data_size);
    const View whole = parameters_.weights(bucket.begin);
    data_parallel.all_gather(stream, whole.at(scope_.data_rank * part), whole, ElementCount{part});
  }
}

double Optimizer::last_square_norm(Stream& stream) {
  Buffer host(device_, Bytes(4), MemoryKind::pinned_host);
  device_.copy(stream, host.data(), square_sum_.data(), Bytes(4));
  stream.synchronise();
  return static_cast<double>(*host.view().as<float>());
}
}  // namespace stepcast::runtime
