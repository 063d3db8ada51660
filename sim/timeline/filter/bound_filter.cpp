#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>
#include <unordered_map>

#include "sim/timeline/filter/filter_tree.hpp"

namespace stepcast::trace {
namespace {
constexpr std::size_t kStopEvery = 4096;  // lanes or slices between looks at the stop token

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
}  // namespace

/// The tree with every test on ops and lanes answered in advance.
struct BoundFilter::Bound {
  enum class On : std::uint8_t { op, lane, slice };
  struct Node {
    FilterNode::Kind kind{};
    On on = On::slice;          // of a test; of a group: what all of its tests stand on
    std::vector<char> answers;  // tests on op or lane
    const FilterNode* source = nullptr;
    std::vector<Node> children;
  };
  Filter filter;
  TracePtr trace;
  const Steps* steps = nullptr;
  Node root;
  // The root as a conjunction, for scans: ops that pass, durations that pass, lanes that pass, and
  // what is left.
  std::vector<char> op_passes;
  std::vector<const Node*> lane_tests, rest;
  Nanoseconds least = std::numeric_limits<Nanoseconds>::min(),
              most = std::numeric_limits<Nanoseconds>::max();
  std::unordered_map<SliceId, std::int64_t> bytes_of;  // filled where a test needs it

  Node bind(const FilterNode& source) {
    Node node;
    node.kind = source.kind, node.source = &source;
    if (source.kind == FilterNode::Kind::text || source.kind == FilterNode::Kind::number) {
      node.on = is_of_op(source.field) ? On::op : is_of_lane(source.field) ? On::lane : On::slice;
      if (node.on == On::op) answer_ops(node);
      if (node.on == On::lane) answer_lanes(node);
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
  void answer_ops(Node& node) const {
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
  void answer_lanes(Node& node) const {
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
  double number_of(Field field, SliceId s, LaneId lane) const {
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
  bool passes(const Node& node, SliceId s, OpId op, LaneId lane) const {
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
        return holds(node.source->numbers, number_of(node.source->field, s, lane));
    }
    return false;
  }
  void plan() {
    std::vector<const Node*> parts;
    if (root.source == nullptr) return;
    if (root.kind == FilterNode::Kind::all_of)
      for (const Node& child : root.children) parts.push_back(&child);
    else
      parts.push_back(&root);
    op_passes.assign(trace->ops().size(), 1);
    for (const Node* part : parts) {
      if (part->on == On::op) {
        for (OpId op = 0; op < op_passes.size(); ++op)
          if (!passes(*part, 0, op, 0)) op_passes[op] = 0;
      } else if (part->on == On::lane) {
        lane_tests.push_back(part);
      } else if (part->kind == FilterNode::Kind::number && part->source->field == Field::dur &&
                 part->source->numbers.size() == 1) {
        // Durations are integers: an open bound is the next one.
        const NumberRange& r = part->source->numbers.front();
        if (std::isfinite(r.low))
          least = std::max(least, static_cast<Nanoseconds>(r.is_low_open ? std::floor(r.low) + 1
                                                                         : std::ceil(r.low)));
        if (std::isfinite(r.high))
          most = std::min(most, static_cast<Nanoseconds>(r.is_high_open ? std::ceil(r.high) - 1
                                                                        : std::floor(r.high)));
      } else {
        rest.push_back(part);
      }
    }
  }
  bool lane_passes(LaneId lane) const {
    return std::all_of(lane_tests.begin(), lane_tests.end(),
                       [&](const Node* test) { return passes(*test, 0, 0, lane); });
  }
  bool slice_passes(SliceId s, LaneId lane) const {
    const OpId op = trace->op_id(s);
    if (op_passes[op] == 0) return false;
    const Nanoseconds d = trace->duration(s);
    if (d < least || d > most) return false;
    return std::all_of(rest.begin(), rest.end(),
                       [&](const Node* test) { return passes(*test, s, op, lane); });
  }
};

BoundFilter::BoundFilter(const Filter& filter, TracePtr trace, const Steps* steps)
    : bound_(std::make_unique<Bound>()) {
  bound_->filter = filter, bound_->trace = std::move(trace), bound_->steps = steps;
  if (!filter.is_everything()) bound_->root = bound_->bind(*bound_->filter.root());
  bound_->plan();
  if (bound_->op_passes.empty()) bound_->op_passes.assign(bound_->trace->ops().size(), 1);
}
BoundFilter::~BoundFilter() = default;
BoundFilter::BoundFilter(BoundFilter&&) noexcept = default;
BoundFilter& BoundFilter::operator=(BoundFilter&&) noexcept = default;

bool BoundFilter::matches(SliceId slice) const {
  return matches(slice, bound_->trace->lane_of(slice));
}
bool BoundFilter::matches(SliceId slice, LaneId lane) const {
  return bound_->lane_passes(lane) && bound_->slice_passes(slice, lane);
}
bool BoundFilter::matches_on_passing_lane(SliceId slice, LaneId lane) const {
  return bound_->slice_passes(slice, lane);
}
bool BoundFilter::excludes_lane(LaneId lane) const { return !bound_->lane_passes(lane); }

BoundFilter::Hits BoundFilter::find(std::size_t limit, std::stop_token stop) const {
  Hits hits;
  const TraceStore& trace = *bound_->trace;
  const std::uint16_t* ops = trace.op_low().data();
  const bool is_simple = trace.op_high().empty() && bound_->rest.empty() && bound_->least <= 0 &&
                         bound_->most == std::numeric_limits<Nanoseconds>::max();
  std::size_t looked = 0;
  const auto hit = [&](SliceId s) {
    ++hits.total;
    if (hits.slices.size() < limit) hits.slices.push_back(s);
  };
  for (LaneId lane = 0; lane < trace.lanes().size(); ++lane) {
    const LaneInfo& l = trace.lanes()[lane];
    if ((looked += l.count + 1) >= kStopEvery * 16) {
      looked = 0;
      if (stop.stop_requested()) {
        hits.is_complete = false;
        return hits;
      }
    }
    if (!bound_->lane_passes(lane)) continue;
    if (is_simple) {
      const char* passes = bound_->op_passes.data();
      for (SliceId s = l.first; s < l.first + l.count; ++s)
        if (passes[ops[s]] != 0) hit(s);
    } else {
      for (SliceId s = l.first; s < l.first + l.count; ++s)
        if (bound_->slice_passes(s, lane)) hit(s);
    }
  }
  return hits;
}

SliceId BoundFilter::next_after(Nanoseconds time, SliceId current) const {
  // Order: start, then id, so that hits which start together are all visited.
  const TraceStore& trace = *bound_->trace;
  SliceId best = kNoId;
  for (LaneId lane = 0; lane < trace.lanes().size(); ++lane) {
    if (!bound_->lane_passes(lane)) continue;
    const LaneInfo& l = trace.lanes()[lane];
    for (SliceId s = trace.first_starting_at(lane, time); s < l.first + l.count; ++s) {
      if (best != kNoId && trace.start(s) >= trace.start(best)) break;
      if (trace.start(s) == time && (current == kNoId ? true : s <= current)) continue;
      if (!bound_->slice_passes(s, lane)) continue;
      best = s;
      break;
    }
  }
  return best;
}

SliceId BoundFilter::previous_before(Nanoseconds time, SliceId current) const {
  const TraceStore& trace = *bound_->trace;
  SliceId best = kNoId;
  for (LaneId lane = 0; lane < trace.lanes().size(); ++lane) {
    if (!bound_->lane_passes(lane)) continue;
    const LaneInfo& l = trace.lanes()[lane];
    for (SliceId s = trace.first_starting_at(lane, time + 1); s-- > l.first;) {
      if (best != kNoId && trace.start(s) < trace.start(best)) break;
      if (trace.start(s) == time && (current == kNoId ? true : s >= current)) continue;
      if (!bound_->slice_passes(s, lane)) continue;
      best = s;  // of hits that start together the last id is the nearest
      break;
    }
  }
  return best;
}

std::vector<std::uint8_t> hit_ticks(const TraceStore& trace, std::span<const SliceId> hits,
                                    Nanoseconds begin, Nanoseconds end, int width) {
  std::vector<std::uint8_t> ticks(static_cast<std::size_t>(std::max(0, width)), 0);
  if (end <= begin || width <= 0) return ticks;
  const double scale = width / static_cast<double>(end - begin);
  for (const SliceId s : hits) {
    if (trace.start(s) >= end || trace.end(s) < begin) continue;
    const auto x = static_cast<std::size_t>(std::clamp(
        static_cast<double>(trace.start(s) - begin) * scale, 0.0, static_cast<double>(width - 1)));
    if (ticks[x] < 255) ++ticks[x];
  }
  return ticks;
}
}  // namespace stepcast::trace
