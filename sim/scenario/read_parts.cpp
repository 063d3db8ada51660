#include <fmt/format.h>

#include <algorithm>

#include "sim/io/object_reader.hpp"
#include "sim/scenario/parts.hpp"

namespace stepcast {
CompressionSpec read_compression(ObjectReader r) {
  CompressionSpec c;
  c.scheme = r.one_of<CompressionScheme>("scheme");
  using enum CompressionScheme;
  const bool is_dgc = c.scheme == dgc,
             keeps_a_share = c.scheme == topk || c.scheme == randomk || is_dgc;
  const bool is_cast = c.scheme == fp16 || c.scheme == bf16;
  // A key that the scheme does not use would be without effect: it is refused.
  const auto refuse = [&](const char* key, bool is_used, const char* who) {
    if (r.has(key) && !is_used)
      r.problem(key, "has no effect with scheme " + std::string(text_of(c.scheme)), who);
  };
  refuse("ratio", keeps_a_share, "topk, randomk and dgc use it");
  refuse("rank", c.scheme == powersgd, "powersgd uses it");
  refuse("warmup_steps", is_dgc, "dgc uses it");
  refuse("error_feedback", c.scheme != none && !is_cast && !is_dgc,
         "schemes that drop something use it; dgc always accumulates");
  refuse("two_level", c.scheme != none, "choose a scheme");
  // DGC keeps one gradient in a thousand (Lin et al., ICLR 2018, section 3).
  c.ratio = r.number("ratio", {.fallback = is_dgc ? 0.001 : c.ratio, .min = 1e-6, .max = 1});
  c.rank = static_cast<int>(r.integer("rank", {.fallback = c.rank, .min = 1, .max = 4096}));
  c.error_feedback = r.boolean("error_feedback", !is_cast);
  c.two_level = r.boolean("two_level", false);
  c.warmup_steps =
      static_cast<int>(r.integer("warmup_steps", {.fallback = 0, .min = 0, .max = 1'000'000}));
  r.done();
  return c;
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
  const auto high = r.integer(
      "max_B", {.fallback = std::max(low, std::int64_t{1} << 34), .min = 1, .max = kLargest_B});
  const auto factor = r.integer("factor", {.fallback = 4, .min = 2, .max = 1 << 20});
  if (r.has("sizes_B")) {
    if (has_range)
      r.problem("sizes_B", "stands beside min_B, max_B or factor", "keep the list or the range");
    if (sizes.empty()) r.problem("sizes_B", "names no size");
    for (const std::int64_t size : sizes) sweep.sizes.emplace_back(size);
  } else {
    if (high < low) r.problem("max_B", fmt::format("{} is below min_B ({})", high, low));
    for (std::int64_t size = low; size <= high; size *= factor) sweep.sizes.emplace_back(size);
  }
  sweep.gpus_per_node =
      static_cast<int>(r.integer("gpus_per_node", {.fallback = 0, .min = 0, .max = 4096}));
  if (sweep.gpus_per_node > gpus_per_node && gpus_per_node > 0)
    r.problem("gpus_per_node", fmt::format("{} is more than a node of this cluster has ({})",
                                           sweep.gpus_per_node, gpus_per_node));
  r.done();
  return sweep;
}
}  // namespace stepcast
