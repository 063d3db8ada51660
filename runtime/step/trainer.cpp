#include "runtime/step/trainer.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "runtime/model/synthetic_data.hpp"
#include "runtime/model/transformer.hpp"
#include "sim/workload/memory_model.hpp"

namespace stepcast::runtime {
namespace {
/// This rank's group of a kind, as a communicator; groups of one need no peers.
std::unique_ptr<Communicator> join(Backend& backend, Device& device, Store& store, int rank,
                                   const TrainingPlan& plan, GroupKind kind) {
  const auto groups = groups_of(kind, plan.layout);
  for (std::size_t index = 0; index < groups.size(); ++index) {
    const auto& members = groups[index];
    const auto found = std::find(members.begin(), members.end(), rank);
    if (found == members.end()) continue;
    return backend.new_communicator(device, store,
                                    {.name = std::string(text_of(kind)) + std::to_string(index),
                                     .rank = static_cast<int>(found - members.begin()),
                                     .size = static_cast<int>(members.size()),
                                     .time_limit = plan.time_limit,
                                     .interface = plan.interface});
  }
  STEPCAST_ASSERT(false, "every rank is a member of one group of each kind");
  return nullptr;
}
void check(const TrainingPlan& plan, const Device& device) {
  Problems problems;
  check_layout(plan.layout, plan.model, plan.training, plan.layout.world(), "training step",
               problems);
  check_transformer(plan.model, plan.training, plan.layout, device, problems);
  if (!problems.empty()) throw InputError(problems);
}
}  // namespace

Trainer::Trainer(Backend& backend, Device& device_, Store& store, int rank_,
                 const TrainingPlan& plan_)
    : device(device_), plan(plan_), rank(rank_), at(coordinates_of(rank_, plan_.layout)) {
  check(plan, device);
  const ParallelLayout& layout = plan.layout;
  micro_batches = static_cast<int>(micro_batch_count(layout, plan.training));
  schedule = schedule_work(layout.schedule, at.pp, layout.pp, micro_batches, 1);
  loss_scale = 1.0f / static_cast<float>(micro_batches * layout.dp);

  compute = device.new_stream("compute");
  loading = device.new_stream("data");
  data_parallel = join(backend, device, store, rank, plan, GroupKind::dp);
  tensor_parallel = join(backend, device, store, rank, plan, GroupKind::tp);
  stages = join(backend, device, store, rank, plan, GroupKind::pp);
  world = backend.new_communicator(device, store,
                                   {.name = "world",
                                    .rank = rank,
                                    .size = layout.world(),
                                    .time_limit = plan.time_limit,
                                    .interface = plan.interface});

  const int slots = std::max(1, micro_batches_in_flight(at.pp, layout, micro_batches));
  model = new_transformer(device, {plan.model.transformer, plan.training, layout, at}, slots,
                          micro_batches);
  Parameters& parameters = model->parameters();
  parameters.allocate(device, plan.training.precision, GradientBuckets::granularity(layout.dp));
  parameters.initialise(*compute, plan.seed);

  BucketPolicy policy = plan.buckets;
  policy.shards = layout.zero_stage >= 1 && layout.dp > 1;
  buckets = std::make_unique<GradientBuckets>(device, *compute, *data_parallel, parameters, policy,
                                              model->ready_offsets());
  const bool is_split = layout.tp * layout.pp > 1 || policy.shards;
  optimizer = std::make_unique<Optimizer>(
      device, parameters,
      OptimizerScope{.buckets = buckets->buckets(),
                     .shards = policy.shards,
                     .data_rank = at.dp,
                     .data_size = layout.dp,
                     .world = is_split ? world.get() : nullptr,
                     .counts_replicated = at.tp == 0,
                     .counts_any = policy.shards || at.dp == 0 || !is_split},
      plan.optimizer);
  if (layout.pp > 1)
    links = std::make_unique<PipelineLinks>(device, *compute, *stages, model->boundary_elements(),
                                            plan.training.precision);

  const std::int64_t tokens =
      plan.training.micro_batch * plan.training.sequence_length * micro_batches;
  host_ids_ = Buffer(device, Bytes(2 * tokens * 4), MemoryKind::pinned_host);
  ids_ = Buffer(device, Bytes(tokens * 4));
  targets_ = Buffer(device, Bytes(tokens * 4));
  host_losses_ =
      Buffer(device, Bytes(model->loss_rows() * micro_batches * 4), MemoryKind::pinned_host);
  loss_ = Buffer(device, 1, Precision::fp32);
}

void Trainer::load_batches(std::int64_t step) {
  const std::int64_t length = plan.training.sequence_length,
                     samples = plan.training.micro_batch * micro_batches;
  auto* ids = host_ids_.view().as<std::int32_t>();
  std::int32_t* targets = ids + samples * length;
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    const auto row = [&](std::int32_t* all) {
      return std::span(all + sample * length, static_cast<std::size_t>(length));
    };
    synthetic_tokens(plan.seed, step, at.dp * samples + sample, plan.model.transformer.vocab,
                     row(ids), row(targets));
  }
  device.copy(*loading, ids_.data(), ids, ids_.bytes());
  device.copy(*loading, targets_.data(), targets, targets_.bytes());
  loading->synchronise();
}

MicroBatch Trainer::micro_batch(int index) const {
  const std::int64_t tokens = plan.training.micro_batch * plan.training.sequence_length;
  return {
      .index = index, .ids = ids_.view(index * tokens), .targets = targets_.view(index * tokens)};
}

double Trainer::mean_loss() {
  const std::int64_t rows = model->loss_rows() * micro_batches;
  float mine = 0;
  if (const View losses = model->losses(0); losses && at.tp == 0) {
    device.copy(*compute, host_losses_.data(), losses.data, Bytes(rows * 4));
    compute->synchronise();
    const float* first = host_losses_.view().as<float>();
    mine = static_cast<float>(std::accumulate(first, first + rows, 0.0) /
                              static_cast<double>(rows * plan.layout.dp));
  }
  std::memcpy(host_losses_.data(), &mine, sizeof mine);
  device.copy(*compute, loss_.data(), host_losses_.data(), Bytes(4));
  world->all_reduce(*compute, loss_.view(), ElementCount{1}, Reduction::sum);
  device.copy(*compute, host_losses_.data(), loss_.data(), Bytes(4));
  compute->synchronise();
  return static_cast<double>(*host_losses_.view().as<float>());
}
}  // namespace stepcast::runtime
