#include "sim/report/memory_counters.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/timeline/op_names.hpp"

namespace stepcast {
namespace {
constexpr double kLeastChange = 1.0 / 16;  // of the peak: a picture shows no less

struct PassSpan {
  Nanoseconds end = 0;
  double work = 0;  // seconds of forward, less than 0 of backward
};

std::map<int, std::vector<PassSpan>> passes_by_rank(const Timeline& timeline) {
  std::map<int, std::vector<PassSpan>> passes;
  for (const Span& span : timeline.spans) {
    const std::string& name = timeline.names.text_of(span.name);
    const bool is_forward = name == phase::forward;
    if (!is_forward && !name.starts_with(phase::backward)) continue;
    const Track& track = timeline.tracks[span.track];
    const double seconds = static_cast<double>(span.end - span.start) * 1e-9;
    passes[track.rank].push_back({span.end, is_forward ? seconds : -seconds});
  }
  return passes;
}

/// Shares of a step's forward passes whose activations are held after each pass; the first of all
/// is 0. Backward takes longer than forward: each is measured by its own sum.
std::vector<double> held_after(const std::vector<PassSpan>& passes) {
  double forward = 0, backward = 0;
  for (const PassSpan& pass : passes) (pass.work > 0 ? forward : backward) += std::abs(pass.work);
  std::vector<double> held;
  double now = 0;
  for (const PassSpan& pass : passes) {
    const double whole = pass.work > 0 ? forward : backward;
    now = std::max(0.0, now + (whole > 0 ? pass.work / whole : 0));
    held.push_back(now);
  }
  return held;
}
}  // namespace

void add_memory_counters(const ParallelLayout& layout, const std::vector<StageMemory>& stages,
                         Timeline& timeline) {
  std::map<int, int> node_of;
  for (const Track& track : timeline.tracks) node_of[track.rank] = track.node;
  for (auto& [rank, passes] : passes_by_rank(timeline)) {
    std::stable_sort(passes.begin(), passes.end(),
                     [](const PassSpan& a, const PassSpan& b) { return a.end < b.end; });
    const auto stage = static_cast<std::size_t>(coordinates_of(rank, layout).pp);
    const std::vector<double> held = held_after(passes);
    const double most = *std::max_element(held.begin(), held.end());
    if (stage >= stages.size() || most <= 0) continue;
    const StageMemory& memory = stages[stage];
    const double standing = memory.total - memory.activations;
    const int node = node_of[rank];
    timeline.memory.push_back({node, rank, 0, standing});
    double told = 0;
    for (std::size_t i = 0; i < passes.size(); ++i) {
      const double share = held[i] / most;
      const bool is_last = i + 1 == passes.size();
      if (std::abs(share - told) < kLeastChange && share < 1 && !is_last) continue;
      timeline.memory.push_back({node, rank, passes[i].end, standing + share * memory.activations});
      told = share;
    }
  }
}
}  // namespace stepcast
