#pragma once
#include <string>
#include <utility>
#include <vector>

#include "sim/core/enum_text.hpp"

/// What makes ranks, nodes, links or storage slow, as a scenario states it. How it unfolds in time:
/// sim/straggler.
namespace stepcast {

enum class JitterKind { lognormal, exponential, pareto };
template <>
struct EnumText<JitterKind> {
  static constexpr std::array<std::pair<JitterKind, std::string_view>, 3> table{
      {{JitterKind::lognormal, "lognormal"},
       {JitterKind::exponential, "exponential"},
       {JitterKind::pareto, "pareto"}}};
};
/// How long one draw holds: one forward or backward pass (or piece of it), one step, the whole run
/// (unequal GPUs).
enum class JitterScope { pass, step, run };
template <>
struct EnumText<JitterScope> {
  static constexpr std::array<std::pair<JitterScope, std::string_view>, 3> table{
      {{JitterScope::pass, "pass"}, {JitterScope::step, "step"}, {JitterScope::run, "run"}}};
};
/// Factor on compute: lognormal with mean 1; exponential 1 + scale * Exp(1); pareto: with
/// `probability` the factor U^(-1/shape) >= 1.
struct JitterSpec {
  JitterKind kind = JitterKind::lognormal;
  JitterScope each = JitterScope::pass;
  double sigma = 0;                   // lognormal
  double scale = 0;                   // exponential
  double shape = 0, probability = 1;  // pareto; mean is finite for shape > 1
  bool is_none() const { return sigma == 0 && scale == 0 && shape == 0; }
};
/// Slow spells that begin at random (Poisson, one every `every_s` on average on each rank) and last
/// `duration_s`.
struct BurstSpec {
  double every_s = 0, duration_s = 0, slowdown = 1;
};
/// Something that recurs: a pause (garbage collection, checkpoint hook) or a slow spell (thermal).
/// By time or by steps.
struct PeriodicSpec {
  double period_s = 0;
  int period_steps = 0;
  double pause_s = 0;                   // of each occurrence
  double duration_s = 0, slowdown = 1;  // or a spell of that length (by time only)
  bool together = false;                // all ranks at once; otherwise each has its own phase
};
/// Slows by so much an hour (dust, heat, fragmentation) until `limit`.
struct DriftSpec {
  double per_hour = 0, limit = 2;
};
/// The node's network ports: share of their rate that is left, and its lognormal spread from step
/// to step (mean 1).
struct SlowLinkSpec {
  double bandwidth_factor = 1, sigma = 0;
};
/// Reading a rank's batch takes `read_s` (lognormal spread sigma, mean 1), `prefetch` batches
/// ahead.
struct SlowStorageSpec {
  double read_s = 0, sigma = 0;
  int prefetch = 2;
};

/// A cause of slowness on some ranks or nodes.
struct StragglerSpec {
  std::vector<std::pair<int, int>> ranks;  // inclusive ranges; empty = all
  std::string op;                          // only ops of this name; empty = all compute
  double compute_slowdown = 1;
  double lognormal_sigma = 0;              // jitter of every forward and backward pass
  double pause_s = 0;                      // once per step, before the forward
  std::vector<std::pair<int, int>> nodes;  // physical nodes, as link_events count them; empty = all
  bool is_by_node = false;                 // `nodes` was written, and `ranks` was not
  JitterSpec jitter;                       // every other jitter than lognormal per pass
  BurstSpec burst;
  PeriodicSpec periodic;
  DriftSpec drift;
  SlowLinkSpec link;
  SlowStorageSpec storage;

  /// Its effect depends on the step or the moment.
  bool varies() const {
    return lognormal_sigma > 0 || (!jitter.is_none() && jitter.each != JitterScope::run) ||
           burst.every_s > 0 || periodic.period_s > 0 || periodic.period_steps > 0 ||
           drift.per_hour != 0 || link.sigma > 0 || storage.read_s > 0;
  }
  bool is_without_effect() const {
    return compute_slowdown == 1 && pause_s == 0 && jitter.is_none() &&
           link.bandwidth_factor == 1 && !varies();
  }
};

/// What is done about stragglers.
struct EvictionSpec {
  double threshold =
      0;  // a node whose ranks' work takes so many times the median's is replaced; 0 = nobody is
  int window_steps = 20;  // judged over so many steps
  int spares = 0;  // nodes standing by; when used up the rest takes over the evicted node's samples
  double swap_s = 0;  // standstill of the job per eviction
};
struct MitigationSpec {
  bool load_aware_batches = false;  // samples in proportion to each replica's constant speed
  EvictionSpec evict;
};
}  // namespace stepcast
