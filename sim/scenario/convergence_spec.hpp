#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "sim/core/enum_text.hpp"

/// What `stepcast converge` trains and how, as the scenario's "converge" object states it. Workers,
/// synchronisation and compression are the rest of the scenario's.
namespace stepcast {

/// teacher: 10 classes drawn from a seeded random network. text: the next character of a text.
enum class LearningTaskKind { teacher, text };
template <>
struct EnumText<LearningTaskKind> {
  static constexpr std::array<std::pair<LearningTaskKind, std::string_view>, 2> table{
      {{LearningTaskKind::teacher, "teacher"}, {LearningTaskKind::text, "text"}}};
};
/// sgd: with momentum. lars: You et al. 2017. lamb: You et al. 2020.
enum class OptimizerRule { sgd, adam, lars, lamb };
template <>
struct EnumText<OptimizerRule> {
  static constexpr std::array<std::pair<OptimizerRule, std::string_view>, 4> table{
      {{OptimizerRule::sgd, "sgd"},
       {OptimizerRule::adam, "adam"},
       {OptimizerRule::lars, "lars"},
       {OptimizerRule::lamb, "lamb"}}};
};
/// How the learning rate follows the batch: not at all, in proportion (Goyal et al. 2017), with its
/// root (Hoffer et al. 2017).
enum class LearningRateRule { none, linear, sqrt };
template <>
struct EnumText<LearningRateRule> {
  static constexpr std::array<std::pair<LearningRateRule, std::string_view>, 3> table{
      {{LearningRateRule::none, "none"},
       {LearningRateRule::linear, "linear"},
       {LearningRateRule::sqrt, "sqrt"}}};
};
/// local: statistics of each worker's samples. sync: of all workers' samples of the step (SyncBN).
enum class BatchNorm { none, local, sync };
template <>
struct EnumText<BatchNorm> {
  static constexpr std::array<std::pair<BatchNorm, std::string_view>, 3> table{
      {{BatchNorm::none, "none"}, {BatchNorm::local, "local"}, {BatchNorm::sync, "sync"}}};
};

struct ConvergenceSpec {
  LearningTaskKind task = LearningTaskKind::teacher;
  std::string corpus;     // text: file to learn; "" = the GPL-3 that Debian's base-files ships
  int workers = 0;        // 0: the scenario's data-parallel replicas
  int worker_batch = 16;  // samples of one worker's gradient
  int accumulation = 1;   // gradients that a worker adds up per step
  OptimizerRule optimizer = OptimizerRule::sgd;
  std::optional<double> learning_rate;  // at base_batch; absent: default_learning_rate(optimizer)
  double base_batch = 32;               // samples per update at which learning_rate was chosen
  LearningRateRule rule = LearningRateRule::linear;
  int warmup_steps = 20;  // the rate rises linearly over so many steps
  double momentum = 0.9;  // sgd, lars
  double clip_norm = 0;   // largest norm of an update's gradient; 0: not clipped
  BatchNorm batch_norm = BatchNorm::none;
  double skew =
      0;  // share of a worker's samples that come from its own classes or part of the text
  int steps = 400;  // most steps of the global batch
  int seeds = 5;
  std::optional<double> target_loss;  // held-out nats per sample; absent: the task's
};

/// Rate at base_batch, from a coarse grid on the teacher task: within 400 steps 4, 16 and 64
/// workers of 16 samples reach its target by sgd (linear rule), adam and lamb (sqrt rule), 4 and 16
/// by lars (linear rule).
double default_learning_rate(OptimizerRule rule);
}  // namespace stepcast
