#include <fmt/format.h>

#include "sim/io/object_reader.hpp"
#include "sim/scenario/parts.hpp"
#include "sim/scenario/rank_ranges.hpp"

namespace stepcast {
namespace {
constexpr double kLongest_s = 3.6e6, kSlowest = 1000;  // beyond any cause that is worth simulating

std::vector<std::pair<int, int>> ranges_of(ObjectReader& r, const char* key, int world) {
  const RankRanges ranges = rank_ranges_of(r.text(key, "*"), world);
  for (const std::string& fault : ranges.faults)
    r.problem(key, fault, "write \"17\", \"0-7,12\" or \"*\"");
  return ranges.ranges;
}

/// Lognormal jitter per pass has its own field: it is what most scenarios use, and the engine draws
/// it op by op.
void read_jitter(ObjectReader r, StragglerSpec& s) {
  JitterSpec j;
  j.kind = r.one_of<JitterKind>("distribution", JitterKind::lognormal);
  j.each = r.one_of<JitterScope>("each", JitterScope::pass);
  const auto refuse = [&](const char* key, JitterKind kind) {
    if (j.kind != kind && r.has(key))
      r.problem(key, "has no effect with distribution " + std::string(text_of(j.kind)),
                std::string(text_of(kind)) + " uses it");
  };
  refuse("sigma", JitterKind::lognormal);
  refuse("scale", JitterKind::exponential);
  refuse("shape", JitterKind::pareto);
  refuse("probability", JitterKind::pareto);
  switch (j.kind) {
    case JitterKind::lognormal:
      j.sigma = r.number("sigma", {.min = 0, .max = 2});
      break;
    case JitterKind::exponential:
      j.scale = r.number("scale", {.min = 0, .max = 100});
      break;
    case JitterKind::pareto:
      // A shape of 1 or less has no mean: no step time could be stated.
      j.shape = r.number("shape", {.min = 1.01, .max = 1000});
      j.probability = r.number("probability", {.fallback = 1, .min = 0, .max = 1});
      break;
  }
  r.done();
  if (j.kind == JitterKind::lognormal && j.each == JitterScope::pass)
    s.lognormal_sigma = j.sigma;
  else
    s.jitter = j;
}

BurstSpec read_burst(ObjectReader r) {
  BurstSpec b;
  b.every_s = r.number("every_s", {.min = 1e-3, .max = kLongest_s});
  b.duration_s = r.number("duration_s", {.min = 1e-6, .max = kLongest_s});
  b.slowdown = r.number("slowdown", {.min = 1, .max = kSlowest});
  r.done();
  return b;
}

PeriodicSpec read_periodic(ObjectReader r) {
  PeriodicSpec p;
  if (r.has("period_s") == r.has("period_steps"))
    r.problem("", "needs a period", "give either period_s or period_steps");
  p.period_s = r.optional_number("period_s", {.min = 1e-3, .max = kLongest_s}).value_or(0);
  p.period_steps = static_cast<int>(
      r.optional_integer("period_steps", {.min = 1, .max = 1'000'000}).value_or(0));
  p.pause_s = r.number("pause_ms", {.fallback = 0, .max = kLongest_s}) * 1e-3;
  p.duration_s = r.number("duration_s", {.fallback = 0, .max = kLongest_s});
  p.slowdown = r.number("slowdown", {.fallback = 1, .min = 1, .max = kSlowest});
  const bool is_spell = r.has("duration_s") || r.has("slowdown");
  if (is_spell == r.has("pause_ms"))
    r.problem("", "needs what happens each time",
              "give either pause_ms, or duration_s with slowdown");
  if (is_spell && p.period_s == 0)
    r.problem("duration_s", "has no effect with period_steps", "a slow spell recurs by period_s");
  if (p.period_s > 0 && p.duration_s > p.period_s)
    r.problem("duration_s", "is longer than period_s");
  p.together = r.boolean("together", false);
  r.done();
  return p;
}
}  // namespace

StragglerSpec read_straggler(ObjectReader r, int world, int nodes) {
  StragglerSpec s;
  s.is_by_node = r.has("nodes");
  if (s.is_by_node && r.has("ranks")) r.problem("nodes", "stands beside ranks", "keep one of them");
  s.nodes = ranges_of(r, "nodes", nodes);
  s.ranks = ranges_of(r, "ranks", world);
  s.op = r.text("op", "");
  s.compute_slowdown = r.number("compute_slowdown", {.fallback = 1, .min = 0.01, .max = kSlowest});
  s.pause_s = r.number("pause_ms", {.fallback = 0, .min = 0, .max = 3.6e6}) * 1e-3;
  if (auto jitter = r.object("jitter")) read_jitter(*jitter, s);
  if (auto burst = r.object("burst")) s.burst = read_burst(*burst);
  if (auto periodic = r.object("periodic")) s.periodic = read_periodic(*periodic);
  if (auto drift = r.object("drift")) {
    s.drift.per_hour = drift->number("per_hour", {.min = 0, .max = 100});
    s.drift.limit = drift->number("limit", {.fallback = 2, .min = 1, .max = kSlowest});
    drift->done();
  }
  if (auto link = r.object("link")) {
    if (!s.is_by_node)
      r.problem("link", "belongs to nodes, whose ports it slows", "give nodes: \"3\" or \"*\"");
    s.link.bandwidth_factor =
        link->number("bandwidth_factor", {.fallback = 1, .min = 1e-4, .max = 100});
    s.link.sigma = link->number("sigma", {.fallback = 0, .min = 0, .max = 2});
    if (!link->has("bandwidth_factor") && !link->has("sigma"))
      link->problem("", "slows nothing down", "give bandwidth_factor or sigma");
    link->done();
  }
  if (auto storage = r.object("storage")) {
    s.storage.read_s = storage->number("read_ms", {.min = 1e-3, .max = 3.6e6}) * 1e-3;
    s.storage.sigma = storage->number("sigma", {.fallback = 0, .min = 0, .max = 2});
    s.storage.prefetch =
        static_cast<int>(storage->integer("prefetch", {.fallback = 2, .min = 1, .max = 1024}));
    storage->done();
  }
  bool has_cause = false;
  for (const char* key :
       {"compute_slowdown", "pause_ms", "jitter", "burst", "periodic", "drift", "link", "storage"})
    has_cause = has_cause || r.has(key);
  if (!has_cause) r.problem("", "slows nothing down", "give compute_slowdown, jitter or pause_ms");
  if (!s.op.empty() && !r.has("compute_slowdown"))
    r.problem("op", "has no effect without compute_slowdown");
  r.done();
  return s;
}

MitigationSpec read_mitigation(ObjectReader r) {
  MitigationSpec m;
  m.load_aware_batches = r.boolean("load_aware_batches", false);
  if (auto evict = r.object("evict")) {
    m.evict.threshold = evict->number("threshold", {.min = 1.001, .max = 1000});
    m.evict.window_steps = static_cast<int>(
        evict->integer("window_steps", {.fallback = 20, .min = 1, .max = 100'000}));
    m.evict.spares =
        static_cast<int>(evict->integer("spares", {.fallback = 0, .min = 0, .max = 100'000}));
    m.evict.swap_s = evict->number("swap_s", {.fallback = 0, .max = kLongest_s});
    evict->done();
  }
  r.done();
  return m;
}
}  // namespace stepcast
