#include "runtime/step/trainer.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "runtime/model/conv_net.hpp"
#include "runtime/model/recommender.hpp"
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
/// What no model of the runtime can do.
void check_step(const TrainingPlan& plan, const Device& device, Problems& problems) {
  const TrainingSpec& training = plan.training;
  const ParallelLayout& layout = plan.layout;
  const auto refuse = [&](const char* place, const std::string& message, const std::string& hint) {
    problems.add({"training step", place, message, hint});
  };
  if (!device.supports(training.precision))
    refuse("/training/precision",
           "\"" + std::string(text_of(training.precision)) + "\" is not what this device trains in",
           "the cpu backend trains in fp32");
  if (training.fusion != Fusion::fused)
    refuse("/training/fusion", "is not fused", "the runtime runs fused kernels");
  if (training.optimizer == OptimizerKind::lamb)
    refuse("/training/optimizer", "is lamb", "adam or sgd");
  if (layout.cp > 1 || layout.ep > 1)
    refuse("/parallel", "asks for context or expert parallelism", "tp, pp, dp");
  if (layout.sequence_parallel) refuse("/parallel/sequence_parallel", "is true", "set it to false");
  if (layout.zero_stage > 1) refuse("/parallel/zero_stage", "is above 1", "0 or 1");
  if (layout.zero_stage > 0 && plan.buckets.compressor)
    refuse("/compression", "stands beside ZeRO", "compress gradients that every rank keeps whole");
  if (layout.virtual_stages > 1 ||
      (layout.schedule != ScheduleKind::one_f_one_b && layout.schedule != ScheduleKind::gpipe))
    refuse("/parallel/schedule", "is interleaved or zero-bubble", "1f1b or gpipe");
}
void check(const TrainingPlan& plan, const Device& device) {
  Problems problems;
  check_layout(plan.layout, plan.model, plan.training, plan.layout.world(), "training step",
               problems);
  check_step(plan, device, problems);
  switch (plan.model.kind) {
    case ModelKind::transformer:
      check_transformer(plan.model, plan.training, plan.layout, problems);
      break;
    case ModelKind::cnn:
      check_conv_net(plan.model, plan.training, plan.layout, problems);
      break;
    case ModelKind::dlrm:
      check_recommender(plan.model, plan.layout, problems);
      break;
    default:
      problems.add(
          {"training step", "/model/kind",
           "\"" + std::string(text_of(plan.model.kind)) + "\" is not what the runtime trains",
           "transformer, cnn or dlrm"});
  }
  if (!problems.empty()) throw InputError(problems);
}
std::unique_ptr<Model> new_model(Device& device, Stream& setup, Communicator& world,
                                 const TrainingPlan& plan, const RankCoordinates& at,
                                 int micro_batches) {
  if (plan.model.kind == ModelKind::cnn)
    return new_conv_net(device, plan.model.cnn, plan.training, micro_batches);
  if (plan.model.kind == ModelKind::dlrm)
    return new_recommender(device, setup, world,
                           {.model = plan.model.dlrm,
                            .training = plan.training,
                            .seed = plan.seed,
                            .table_rate = plan.optimizer.table_rate,
                            .micro_batches = micro_batches});
  const int slots = std::max(1, micro_batches_in_flight(at.pp, plan.layout, micro_batches));
  return new_transformer(device, {plan.model.transformer, plan.training, plan.layout, at}, slots,
                         micro_batches);
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

  model = new_model(device, *compute, *world, plan, at, micro_batches);
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
      plan.training.optimizer, plan.optimizer);
  optimizer->clear_state(*compute);
  if (layout.pp > 1)
    links = std::make_unique<PipelineLinks>(device, *compute, *stages, model->boundary_elements(),
                                            plan.training.precision);

  batches = new_batches(device, plan.model, plan.training, micro_batches,
                        at.dp * plan.training.micro_batch * micro_batches, plan.seed);
  host_losses_ =
      Buffer(device, Bytes(model->loss_rows() * micro_batches * 4), MemoryKind::pinned_host);
  loss_ = Buffer(device, 1, Precision::fp32);
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
