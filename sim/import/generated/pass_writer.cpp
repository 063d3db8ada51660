#include "sim/import/generated/pass_writer.hpp"

#include <algorithm>
#include <utility>

namespace stepcast {
namespace {
/// Group whose time a piece of a pass is; nothing for work of the GPU itself.
std::optional<GroupKind> group_of(Category category) {
  switch (category) {
    case Category::exposed_tp:
      return GroupKind::tp;
    case Category::exposed_ep:
      return GroupKind::ep;
    case Category::exposed_cp:
      return GroupKind::cp;
    case Category::exposed_pp:
      return GroupKind::pp;
    case Category::exposed_dp:
      return GroupKind::dp;
    default:
      return std::nullopt;
  }
}
}  // namespace

PassWriter::PassWriter(WorkRank& rank, Place place, NameId issue_name, NameOf name_of,
                       BlockGroup block_group, std::int64_t& next_match)
    : rank_(rank),
      place_(place),
      issue_name_(issue_name),
      name_of_(std::move(name_of)),
      block_group_(std::move(block_group)),
      next_match_(next_match) {}

std::vector<PassWriter::Part> PassWriter::parts_of(const Segment& segment, double slowdown) {
  std::vector<Part> parts;
  for (const Piece& piece : segment.pieces) {
    auto at = std::find_if(parts.begin(), parts.end(), [&](const Part& p) {
      return p.name == piece.name && p.category == piece.category;
    });
    if (at == parts.end()) {
      parts.push_back({piece.name, piece.category, 0});
      at = parts.end() - 1;
    }
    at->seconds += static_cast<double>(piece.seconds) * (piece.scales ? slowdown : 1);
  }
  std::erase_if(parts, [](const Part& p) { return p.seconds <= 0; });
  return parts;
}

PassWriter::Split PassWriter::split_of(const Segment& segment, const OpTime& time) {
  const double planned = time.slowdown * segment.scaled + segment.fixed;
  const double total = time.end - time.start;
  Split split{total, 0, 0};
  const Segment::Bound* binding = nullptr;
  double latest = -1e300, left = 0;
  for (const Segment::Bound& bound : segment.bounds) {
    const double behind = time.slowdown * bound.scaled_left + bound.fixed_left;
    if (time.host_start + bound.issued + behind <= latest) continue;
    latest = time.host_start + bound.issued + behind, left = behind, binding = &bound;
  }
  if (binding == nullptr) return split;
  split.issued = binding->issued;
  const double launched = time.host_start + binding->issued;
  if (latest >= time.start + planned) {  // the GPU waited for this launch
    split.head = std::max(0.0, planned - left);
    split.tail = std::max(0.0, time.end - std::max(launched, time.start));
  } else {  // it had its launch in time; traffic may have stretched all of it alike
    const double stretched = planned > 0 ? left * total / planned : 0;
    split.tail = std::clamp(time.end - launched, 0.0, std::min(stretched, total));
    split.head = total - split.tail;
  }
  return split;
}

std::uint32_t PassWriter::add_host(const Segment& segment, const ProgramOp& op, const OpTime& time,
                                   double issued, const std::vector<std::uint32_t>& after,
                                   double ready) {
  // A host that was ahead of the step issued part of the pass before it began.
  const auto in_step = [](double moment) { return std::max(0.0, moment); };
  const double begin = in_step(time.host_start), launched = in_step(time.host_start + issued),
               end = in_step(time.host_start + segment.host);
  WorkOp issue{.kind = WorkKind::host,
               .lane = place_.host_lane,
               .name = issue_name_,
               .duration_s = launched - begin,
               .step = 0,
               .after = {}};
  if (op.host_waits) issue.after = after;
  issue.delay_s = std::max(0.0, begin - (op.host_waits ? std::max(host_free_, ready) : host_free_));
  rank_.ops.push_back(issue);
  const auto launch = static_cast<std::uint32_t>(rank_.ops.size() - 1);
  issue.after.clear();
  issue.delay_s = 0, issue.duration_s = end - launched;
  if (issue.duration_s > 0) rank_.ops.push_back(issue);
  host_free_ = end;
  return launch;
}

WorkOp PassWriter::op_of(const Part& part, double seconds) {
  WorkOp o{.kind = WorkKind::compute,
           .lane = place_.compute_lane,
           .name = name_of_(part.name),
           .duration_s = seconds,
           .step = 0,
           .after = {}};
  if (const auto group = group_of(part.category)) {
    o.kind = WorkKind::collective;
    o.group = block_group_(*group);
    o.match = next_match_++;
  }
  return o;
}

void PassWriter::add(const Segment& segment, const ProgramOp& op, const OpTime& time,
                     std::vector<std::uint32_t> after, double ready) {
  std::vector<Part> parts = parts_of(segment, time.slowdown);
  // Without ops it is a wait of the framework by its own clock.
  const bool is_wait = parts.empty();
  if (is_wait) parts.push_back({op.name, Category::compute, time.end - time.start});
  double planned = 0;
  for (const Part& part : parts) planned += part.seconds;
  const Split split = split_of(segment, time);
  const bool has_host = segment.host > 0;
  const std::uint32_t launch =
      has_host ? add_host(segment, op, time, split.issued, after, ready) : 0;

  const double delay = std::max(0.0, time.start - ready);
  const auto first = rank_.ops.size();
  const auto append = [&](const Part& part, double seconds) {
    rank_.ops.push_back(op_of(part, seconds));
    if (is_wait) rank_.ops.back().kind = WorkKind::host;
  };
  // Parts in a row, cut where the head ends; the last of each side takes what rounding left.
  const double stretch = planned > 0 ? (split.head + split.tail) / planned : 0;
  double head = split.head, tail = split.tail;
  std::size_t at = 0;
  double rest = parts[0].seconds * stretch;  // of parts[at]
  const auto spend = [&](double& budget) {
    while (budget > 0) {
      const bool is_last = at + 1 == parts.size();
      const double taken = is_last ? budget : std::min(rest, budget);
      if (taken > 0) append(parts[at], taken);
      budget -= taken, rest -= taken;
      if (rest > 0 || is_last) break;
      rest = parts[++at].seconds * stretch;
    }
  };
  spend(head);
  if (rank_.ops.size() == first) append(parts[0], 0);  // carries what the pass waits for
  rank_.ops[first].after = std::move(after);
  rank_.ops[first].delay_s = delay;
  const auto behind = rank_.ops.size();
  spend(tail);
  if (has_host && behind == rank_.ops.size()) append(parts.back(), 0);
  if (has_host) rank_.ops[behind].after.push_back(launch);
}
}  // namespace stepcast
