#include "sim/engine/lowering/work_lowering.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/assert.hpp"
#include "sim/graph/offload.hpp"
#include "sim/timeline/host_op_names.hpp"
#include "sim/timeline/op_names.hpp"

namespace stepcast {
namespace {

Category category_of(GroupKind kind) {
  switch (kind) {
    case GroupKind::tp:
      return Category::exposed_tp;
    case GroupKind::cp:
      return Category::exposed_cp;
    case GroupKind::ep:
      return Category::exposed_ep;
    case GroupKind::pp:
      return Category::exposed_pp;
    default:
      return Category::exposed_dp;
  }
}
bool is_attention(const Op& op) {
  return op.name == op::attention || op.name == op::attention_scores ||
         op.name == op::attention_softmax || op.name == op::attention_values;
}
/// Launching a collective costs the host what launching its kernels does; an empty copy stands for
/// them.
Op launch_of(const Op& op) {
  return Op{.name = op.name,
            .pass = op.pass,
            .shape = StreamShape{StreamKind::copy, Bytes(0), Bytes(0)},
            .eager_launches = op.eager_launches,
            .fused_launches = op.fused_launches};
}
}  // namespace

void WorkLowering::close_segment(const std::string& name, Category category) {
  if (builder_.empty()) return;
  result_.items.push_back({WorkItem::Kind::segment,
                           static_cast<std::uint32_t>(program_.segments.size()), category,
                           names_.id_of(name)});
  program_.segments.push_back(builder_.take());
}

// What runs on the host or between it and the GPU: rates of the node, which no slow GPU stretches.
bool WorkLowering::add_host_work(const Op& op, Category category) {
  const bool is_update = op.name == op::host_update;
  if (!is_update && op.name != op::host_copy) return false;
  const auto& stream = std::get<StreamShape>(op.shape);
  const double copy = static_cast<double>(stream.written.value) / node_.host_to_device.value;
  double seconds = copy;
  if (is_update) {
    const double node_rate = scenario_.strategy.cpu_update_parameters_per_s > 0
                                 ? scenario_.strategy.cpu_update_parameters_per_s
                                 : kCpuUpdate_parameters_per_s;
    seconds = std::max(copy, static_cast<double>(stream.read.value) / (node_rate / node_.gpus));
  }
  builder_.add(op.name, category, Seconds(seconds), cost_.cost(launch_of(op)).host, false);
  return true;
}

void WorkLowering::add_compute(const Op& op, Category category) {
  if (add_host_work(op, category)) return;
  OpCost cost = cost_.cost(op);
  cost.duration = cost.duration * codec_.of(op.name);
  Seconds duration = cost.duration;
  if (const auto slow = view_.op_slowdown.find(op.name); slow != view_.op_slowdown.end())
    duration = duration * slow->second;
  builder_.add(op.name, category, duration, cost.host, true);
  result_.doubts.sigma_seconds[op.name] += cost.relative_sigma * duration.value;
  if (cost.is_extrapolated) {
    Doubts::Extrapolated& doubt = result_.doubts.extrapolated[op.name];
    doubt.nearest_measured = cost.nearest_measured;
    doubt.seconds += duration.value;
  }
}

/// Ring attention passes keys and values around while it computes: the exchanges before an
/// attention hide behind it, all of them together for no longer than it runs.
double WorkLowering::hidden_behind_attention(const std::vector<Op>& ops, std::size_t at) {
  std::size_t first = at;
  while (first < ops.size() && !is_attention(ops[first])) ++first;
  if (first < ops.size() && attention_counted_at_ != first + 1) {
    attention_counted_at_ = first + 1;
    attention_left_ = 0;
    for (std::size_t i = first; i < ops.size() && is_attention(ops[i]); ++i)
      attention_left_ += cost_.cost(ops[i]).duration.value;
  }
  return first < ops.size() ? attention_left_ : 0;
}

Seconds WorkLowering::issue_time(const Op& collective, const GroupShape& group) const {
  const Seconds launch = cost_.cost(launch_of(collective)).host;
  const HostMode host = scenario_.strategy.host;
  if (habits_.issue_s <= 0 || (host != HostMode::eager && host != HostMode::fused)) return launch;
  return Seconds((habits_.issue_s + habits_.issue_per_peer_s * (group.ranks_per_node - 1)) *
                 scenario_.strategy.host_scale);
}

void WorkLowering::add_collective(const std::vector<Op>& ops, std::size_t at) {
  const Op& op = ops[at];
  const auto& shape = std::get<CollectiveShape>(op.shape);
  const GroupShape& group = view_.shape[static_cast<std::size_t>(shape.group)];
  if (group.ranks <= 1 || shape.buffer.value == 0) return;
  const Category category = category_of(shape.group);
  CollectiveTerms terms = collectives_.terms(shape.collective, shape.buffer, group);
  const double in_node = terms.startup.value + terms.intra.value;
  if (terms.is_extrapolated) {
    Doubts::Extrapolated& doubt = result_.doubts.extrapolated[fmt::format(
        "{} over {}", text_of(shape.collective), text_of(shape.group))];
    doubt.nearest_measured = terms.nearest_measured;
    doubt.seconds += in_node;
  }
  const double tp_shown =
      op.overlappable && shape.group == GroupKind::tp ? 1 - scenario_.strategy.tp_overlap : 1;
  if (group.nodes == 1) {
    double exposed = in_node * tp_shown;
    bool is_whole = tp_shown == 1;
    if (shape.group == GroupKind::tp)
      exposed += habits_.wait_per_peer_s * (group.ranks - 1) * host_over_gpu_;
    if (op.overlappable && shape.group == GroupKind::cp) {
      const double hidden = std::min(in_node, hidden_behind_attention(ops, at));
      attention_left_ -= hidden;
      exposed = in_node - hidden;
      is_whole = hidden == 0;
    }
    result_.doubts.sigma_seconds[op.name] += terms.relative_sigma * exposed;
    builder_.add(op.name, category, Seconds(exposed), issue_time(op, group), false,
                 is_whole ? in_node_transfer(shape, group.ranks) : -1);
    return;
  }
  builder_.add(op.name, category, Seconds(0), issue_time(op, group), false);
  // The hidden share neither waits nor keeps its links busy while others want them; its payload is
  // still counted.
  terms.startup = terms.startup * tp_shown;
  terms.intra = terms.intra * tp_shown;
  terms.edge_bytes *= tp_shown;
  close_segment(std::string(phase::step), Category::compute);
  const bool is_beside = op.overlappable && shape.group == GroupKind::cp;
  result_.items.push_back({is_beside ? WorkItem::Kind::beside : WorkItem::Kind::transfer,
                           static_cast<std::uint32_t>(program_.transfers.size()), category,
                           names_.id_of(op.name)});
  program_.transfers.push_back({terms, shape.group, static_cast<double>(shape.buffer.value),
                                shape.collective, tp_shown == 1 ? group.ranks : 0});
}

/// Layers repeat their collectives, so the one that is meant stands near the end of the list.
std::int32_t WorkLowering::in_node_transfer(const CollectiveShape& shape, int ranks) {
  constexpr std::size_t kLookBack = 16;
  std::vector<Transfer>& all = program_.transfers;
  const auto bytes = static_cast<double>(shape.buffer.value);
  for (std::size_t i = all.size(); i > 0 && i + kLookBack > all.size(); --i) {
    const Transfer& known = all[i - 1];
    if (known.collective == shape.collective && known.group == shape.group &&
        known.payload_bytes == bytes && known.ranks == ranks)
      return static_cast<std::int32_t>(i - 1);
  }
  all.push_back({{}, shape.group, bytes, shape.collective, ranks});
  return static_cast<std::int32_t>(all.size() - 1);
}

double WorkLowering::host_over_gpu(const std::vector<Op>& ops) const {
  double host = 0, gpu = 0;
  for (const Op& op : ops) {
    if (op.is_collective() || op.name == op::host_update || op.name == op::host_copy) continue;
    const OpCost cost = cost_.cost(op);
    host += cost.host.value;
    gpu += cost.duration.value;
  }
  return host < gpu ? host / gpu : 1;
}

LoweredWork WorkLowering::lower(const WorkList& list, Category category) {
  result_ = {};
  host_over_gpu_ = host_over_gpu(list.ops);
  attention_counted_at_ = 0;
  bool hides = false;  // a transfer runs beside the coming attention, which must end with a segment
                       // of its own
  for (std::size_t i = 0; i < list.ops.size(); ++i) {
    const Op& op = list.ops[i];
    if (op.is_collective()) {
      const std::size_t before = result_.items.size();
      add_collective(list.ops, i);
      if (result_.items.size() > before && result_.items.back().kind == WorkItem::Kind::beside)
        hides = true;
      continue;
    }
    add_compute(op, op.pass == Pass::optimizer && category == Category::compute
                        ? Category::optimizer
                        : category);
    if (hides && is_attention(op) && (i + 1 == list.ops.size() || !is_attention(list.ops[i + 1]))) {
      close_segment(list.name, category);
      hides = false;
    }
  }
  close_segment(list.name, category);
  for (WorkItem& item : result_.items)
    if (item.kind == WorkItem::Kind::segment) {
      item.name = names_.id_of(list.name);
      item.category = category;
    }
  return std::move(result_);
}
}  // namespace stepcast
