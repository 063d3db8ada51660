#include <fmt/format.h>

#include <algorithm>

#include "sim/io/object_reader.hpp"
#include "sim/scenario/parts.hpp"
#include "sim/scenario/rank_ranges.hpp"

namespace stepcast {
namespace {
enum class JitterKind { lognormal };
}
template <>
struct EnumText<JitterKind> {
  static constexpr std::array<std::pair<JitterKind, std::string_view>, 1> table{{{JitterKind::lognormal, "lognormal"}}};
};

CompressionSpec read_compression(ObjectReader r) {
  CompressionSpec c;
  c.scheme = r.one_of<CompressionScheme>("scheme");
  const bool keeps_a_share = c.scheme == CompressionScheme::topk || c.scheme == CompressionScheme::randomk;
  const bool is_low_rank = c.scheme == CompressionScheme::powersgd;
  // A key that the scheme does not use would be without effect: it is refused.
  if (r.has("ratio") && !keeps_a_share) r.problem("ratio", "has no effect with scheme " + std::string(text_of(c.scheme)), "topk and randomk use it");
  if (r.has("rank") && !is_low_rank) r.problem("rank", "has no effect with scheme " + std::string(text_of(c.scheme)), "powersgd uses it");
  c.ratio = r.number("ratio", {.fallback = c.ratio, .min = 1e-6, .max = 1});
  c.rank = static_cast<int>(r.integer("rank", {.fallback = c.rank, .min = 1, .max = 4096}));
  r.done();
  return c;
}

StragglerSpec read_straggler(ObjectReader r, int world) {
  StragglerSpec s;
  const RankRanges ranks = rank_ranges_of(r.text("ranks", "*"), world);
  for (const std::string& fault : ranks.faults) r.problem("ranks", fault, "write \"17\", \"0-7,12\" or \"*\"");
  s.ranks = ranks.ranges;
  s.op = r.text("op", "");
  s.compute_slowdown = r.number("compute_slowdown", {.fallback = 1, .min = 0.01, .max = 1000});
  s.pause_s = r.number("pause_ms", {.fallback = 0, .min = 0, .max = 3.6e6}) * 1e-3;
  if (auto jitter = r.object("jitter")) {
    jitter->one_of<JitterKind>("distribution", JitterKind::lognormal);
    s.lognormal_sigma = jitter->number("sigma", {.min = 0, .max = 2});
    jitter->done();
  }
  if (!r.has("compute_slowdown") && !r.has("pause_ms") && !r.has("jitter"))
    r.problem("", "slows nothing down", "give compute_slowdown, jitter or pause_ms");
  if (!s.op.empty() && !r.has("compute_slowdown"))
    r.problem("op", "has no effect without compute_slowdown");
  r.done();
  return s;
}

RunSpec read_run(ObjectReader r) {
  RunSpec run;
  run.steps = static_cast<int>(r.integer("steps", {.fallback = run.steps, .min = 1, .max = 1000}));
  run.seed = static_cast<std::uint64_t>(r.integer("seed", {.fallback = 1, .min = 0}));
  run.runs = static_cast<int>(r.integer("runs", {.fallback = run.runs, .min = 1, .max = 10000}));
  run.fold = r.boolean("fold", run.fold);
  run.message_level_rings = r.boolean("message_level_rings", run.message_level_rings);
  r.done();
  return run;
}

CollectiveSweep read_collective_sweep(ObjectReader r, int gpus_per_node) {
  constexpr std::int64_t kLargest_B = std::int64_t{1} << 44;  // 16 TiB
  CollectiveSweep sweep;
  sweep.collective = r.one_of<Collective>("operation", Collective::all_reduce);
  const auto sizes = r.integers("sizes_B", {.min = 1, .max = kLargest_B});
  // Without a list: min, min * factor ... max, as nccl-tests' -b -e -f.
  const bool has_range = r.has("min_B") || r.has("max_B") || r.has("factor");
  const auto low = r.integer("min_B", {.fallback = 1024, .min = 1, .max = kLargest_B});
  const auto high = r.integer("max_B", {.fallback = std::max(low, std::int64_t{1} << 34), .min = 1, .max = kLargest_B});
  const auto factor = r.integer("factor", {.fallback = 4, .min = 2, .max = 1 << 20});
  if (r.has("sizes_B")) {
    if (has_range) r.problem("sizes_B", "stands beside min_B, max_B or factor", "keep the list or the range");
    if (sizes.empty()) r.problem("sizes_B", "names no size");
    for (const std::int64_t size : sizes) sweep.sizes.emplace_back(size);
  } else {
    if (high < low) r.problem("max_B", fmt::format("{} is below min_B ({})", high, low));
    for (std::int64_t size = low; size <= high; size *= factor) sweep.sizes.emplace_back(size);
  }
  sweep.gpus_per_node = static_cast<int>(r.integer("gpus_per_node", {.fallback = 0, .min = 0, .max = 4096}));
  if (sweep.gpus_per_node > gpus_per_node && gpus_per_node > 0)
    r.problem("gpus_per_node", fmt::format("{} is more than a node of this cluster has ({})", sweep.gpus_per_node, gpus_per_node));
  r.done();
  return sweep;
}
}  // namespace stepcast
