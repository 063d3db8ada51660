#include <algorithm>
#include <sstream>

#include "sim/workload/parallel_layout.hpp"

namespace stepcast {
namespace {
constexpr int kMaxRanks = 1 << 20;

std::vector<Axis> read_rank_order(ObjectReader& reader) {
  static const std::vector<Axis> fallback{Axis::tp, Axis::cp, Axis::dp, Axis::pp};
  const std::string text = reader.text("rank_order", "tp-cp-ep-dp-pp");
  std::vector<Axis> order;
  std::istringstream parts(text);
  bool is_sound = true;
  for (std::string part; std::getline(parts, part, '-');) {
    if (part == "ep")
      continue;  // expert groups are runs of ranks of a stage, wherever ep is written
    const Axis axis = part == "tp"   ? Axis::tp
                      : part == "cp" ? Axis::cp
                      : part == "dp" ? Axis::dp
                                     : Axis::pp;
    if ((axis == Axis::pp && part != "pp") ||
        std::find(order.begin(), order.end(), axis) != order.end())
      is_sound = false;
    order.push_back(axis);
  }
  if (is_sound && order.size() == fallback.size()) return order;
  reader.problem("rank_order",
                 "found \"" + text +
                     "\", expected each of tp, cp, dp, pp once, fastest first, joined by \"-\"",
                 "try \"tp-cp-ep-dp-pp\" or \"tp-cp-ep-pp-dp\"");
  return fallback;
}
}  // namespace

ParallelLayout read_layout(ObjectReader reader) {
  ParallelLayout layout;
  const auto size = [&](const char* key, int fallback) {
    return static_cast<int>(
        reader.integer(key, {.fallback = fallback, .min = 1, .max = kMaxRanks}));
  };
  layout.tp = size("tp", 1);
  layout.pp = size("pp", 1);
  layout.cp = size("cp", 1);
  layout.ep = size("ep", 1);
  layout.dp =
      static_cast<int>(reader.optional_integer("dp", {.min = 1, .max = kMaxRanks}).value_or(0));
  layout.expert_tp = size("expert_tp", 1);
  layout.sequence_parallel = reader.boolean("sequence_parallel", false);
  layout.zero_stage =
      static_cast<int>(reader.integer("zero_stage", {.fallback = 0, .min = 0, .max = 3}));
  layout.shard_size =
      static_cast<int>(reader.integer("shard_size", {.fallback = 0, .min = 0, .max = kMaxRanks}));
  layout.virtual_stages = size("virtual_stages", 1);
  layout.schedule = reader.one_of<ScheduleKind>("schedule", layout.virtual_stages > 1
                                                                ? ScheduleKind::interleaved
                                                                : ScheduleKind::one_f_one_b);
  layout.context = reader.one_of<ContextKind>("context", ContextKind::ring);
  for (const std::int64_t count : reader.integers("layers_per_stage", {.min = 0, .max = 1 << 20}))
    layout.layers_per_stage.push_back(static_cast<int>(count));
  layout.rank_order = read_rank_order(reader);
  reader.done();
  return layout;
}
}  // namespace stepcast
