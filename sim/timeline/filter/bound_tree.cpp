#include <algorithm>
#include <cmath>
#include <regex>

#include "sim/timeline/filter/bound_tree.hpp"

namespace stepcast::trace {
namespace {
bool test_text(const FilterNode& node, std::string_view text, const std::regex* regex) {
  switch (node.test) {
    case TextTest::equal:
      return std::find(node.texts.begin(), node.texts.end(), text) != node.texts.end();
    case TextTest::contains:
      return lower_case(text).find(node.texts.front()) != std::string::npos;
    case TextTest::regex:
      return std::regex_search(text.begin(), text.end(), *regex);
  }
  return false;
}
bool is_of_op(Field field) {
  return field == Field::name || field == Field::cat || field == Field::category;
}
bool is_of_lane(Field field) {
  return field == Field::stream || field == Field::node || field == Field::rank_name ||
         field == Field::rank || field == Field::depth;
}
/// Durations are integers: an open bound is the next one.
template <class Node>
void take_range(const NumberRange& r, Node& node) {
  static constexpr double kFarthest = 9e18;  // below 2^63
  const auto ns = [](double value) {
    return static_cast<Nanoseconds>(std::clamp(value, -kFarthest, kFarthest));
  };
  node.is_one_range_of_dur = true;
  node.least = ns(r.is_low_open ? std::floor(r.low) + 1 : std::ceil(r.low));
  node.most = ns(r.is_high_open ? std::ceil(r.high) - 1 : std::floor(r.high));
}
}  // namespace

BoundFilter::Bound::Node BoundFilter::Bound::bind(const FilterNode& source) {
  Node node;
  node.kind = source.kind, node.source = &source;
  if (source.kind == FilterNode::Kind::text || source.kind == FilterNode::Kind::number) {
    node.on = is_of_op(source.field) ? On::op : is_of_lane(source.field) ? On::lane : On::slice;
    if (node.on == On::op) answer_ops(node);
    if (node.on == On::lane) answer_lanes(node);
    if (source.field == Field::dur && source.numbers.size() == 1)
      take_range(source.numbers.front(), node);
    if (source.field == Field::bytes && bytes_of.empty())
      for (const CollectiveSlice& c : trace->collectives()) bytes_of[c.slice] = c.bytes;
    return node;
  }
  for (const auto& child : source.children) node.children.push_back(bind(*child));
  node.on = node.children.front().on;
  for (const Node& child : node.children)
    if (child.on != node.on) node.on = On::slice;
  return node;
}

void BoundFilter::Bound::answer_ops(Node& node) const {
  const FilterNode& source = *node.source;
  const std::regex regex =
      source.test == TextTest::regex
          ? std::regex(source.texts.front(), std::regex::ECMAScript | std::regex::icase)
          : std::regex();
  std::unordered_map<std::uint32_t, bool> known;  // names repeat among ops
  for (const Op& op : trace->ops()) {
    if (source.field == Field::category) {
      node.answers.push_back(test_text(source, text_of(op.shown), &regex));
      continue;
    }
    const std::uint32_t text = source.field == Field::name ? op.name : op.category;
    const auto [at, is_new] = known.try_emplace(text, false);
    if (is_new) at->second = test_text(source, trace->text(text), &regex);
    node.answers.push_back(at->second);
  }
}

void BoundFilter::Bound::answer_lanes(Node& node) const {
  const FilterNode& source = *node.source;
  const std::regex regex =
      source.test == TextTest::regex
          ? std::regex(source.texts.front(), std::regex::ECMAScript | std::regex::icase)
          : std::regex();
  for (LaneId lane = 0; lane < trace->lanes().size(); ++lane) {
    const TrackId track_id = trace->lanes()[lane].track;
    const TrackInfo& track = trace->tracks()[track_id];
    const RankInfo& rank = trace->ranks()[track.rank];
    bool passes = false;
    switch (source.field) {
      case Field::stream:
        passes = test_text(source, track.label, &regex);
        break;
      case Field::node:
        passes = test_text(source, trace->nodes()[rank.node].label, &regex);
        break;
      case Field::rank_name:
        passes = test_text(source, rank.label, &regex);
        break;
      case Field::rank:
        passes = rank.rank >= 0 && holds(source.numbers, rank.rank);
        break;
      default:
        passes = holds(source.numbers, lane - track.first_lane);
        break;
    }
    node.answers.push_back(passes);
  }
}

double BoundFilter::Bound::number_of(Field field, SliceId s, LaneId lane) const {
  switch (field) {
    case Field::dur:
      return static_cast<double>(trace->duration(s));
    case Field::start:
      return static_cast<double>(trace->start(s) - trace->begin());
    case Field::end:
      return static_cast<double>(trace->end(s) - trace->begin());
    case Field::step: {
      const int step =
          steps == nullptr
              ? -1
              : steps->step_at(trace->tracks()[trace->lanes()[lane].track].rank, trace->start(s));
      return step < 0 ? std::nan("")
                      : static_cast<double>(steps->numbers[static_cast<std::size_t>(step)]);
    }
    case Field::bytes: {
      const auto found = bytes_of.find(s);
      return found == bytes_of.end() ? std::nan("") : static_cast<double>(found->second);
    }
    case Field::self: {  // without what runs on the lane below inside it
      Nanoseconds own = trace->duration(s);
      const TrackInfo& track = trace->tracks()[trace->lanes()[lane].track];
      if (lane + 1 < track.first_lane + track.lanes) {
        const LaneInfo& below = trace->lanes()[lane + 1];
        for (SliceId child = trace->first_starting_at(lane + 1, trace->start(s));
             child < below.first + below.count && trace->end(child) <= trace->end(s); ++child)
          own -= trace->duration(child);
      }
      return static_cast<double>(own);
    }
    default:
      return std::nan("");
  }
}

bool BoundFilter::Bound::passes(const Node& node, SliceId s, OpId op, LaneId lane) const {
  switch (node.kind) {
    case FilterNode::Kind::all_of:
      return std::all_of(node.children.begin(), node.children.end(),
                         [&](const Node& child) { return passes(child, s, op, lane); });
    case FilterNode::Kind::any_of:
      return std::any_of(node.children.begin(), node.children.end(),
                         [&](const Node& child) { return passes(child, s, op, lane); });
    case FilterNode::Kind::none_of:
      return !passes(node.children.front(), s, op, lane);
    case FilterNode::Kind::text:
    case FilterNode::Kind::number:
      if (node.on == On::op) return node.answers[op] != 0;
      if (node.on == On::lane) return node.answers[lane] != 0;
      if (node.is_one_range_of_dur) {
        const Nanoseconds d = trace->duration(s);
        return d >= node.least && d <= node.most;
      }
      return holds(node.source->numbers, number_of(node.source->field, s, lane));
  }
  return false;
}

void BoundFilter::Bound::bind_all() {
  if (!filter.is_everything()) root = bind(*filter.root());
  op_passes.assign(trace->ops().size(), 1);
  plan();
}

void BoundFilter::Bound::plan() {
  std::vector<const Node*> parts;
  if (root.source == nullptr) return;
  if (root.kind == FilterNode::Kind::all_of)
    for (const Node& child : root.children) parts.push_back(&child);
  else
    parts.push_back(&root);
  for (const Node* part : parts) {
    if (part->on == On::op) {
      for (OpId op = 0; op < op_passes.size(); ++op)
        if (!passes(*part, 0, op, 0)) op_passes[op] = 0;
    } else if (part->on == On::lane) {
      lane_tests.push_back(part);
    } else {
      rest.push_back(part);
    }
  }
  std::stable_partition(rest.begin(), rest.end(),
                        [](const Node* test) { return test->is_one_range_of_dur; });
}

bool BoundFilter::Bound::lane_passes(LaneId lane) const {
  return std::all_of(lane_tests.begin(), lane_tests.end(),
                     [&](const Node* test) { return passes(*test, 0, 0, lane); });
}

bool BoundFilter::Bound::slice_passes(SliceId s, LaneId lane) const {
  const OpId op = trace->op_id(s);
  if (op_passes[op] == 0) return false;
  return std::all_of(rest.begin(), rest.end(),
                     [&](const Node* test) { return passes(*test, s, op, lane); });
}
}  // namespace stepcast::trace
