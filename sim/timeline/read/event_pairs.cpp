#include "sim/timeline/read/event_pairs.hpp"

#include <algorithm>
#include <tuple>

namespace stepcast::trace {
namespace {
constexpr std::size_t kKeptPlaces = 5;  // as many as Anomalies keeps
}

PairLosses add_pairs(std::vector<PairEvent>& events, Nanoseconds last, StoreBuilder& builder) {
  PairLosses losses;
  const auto lose = [&](std::int64_t& count, std::uint64_t offset) {
    ++count;
    if (losses.places.size() < kKeptPlaces) losses.places.push_back(offset);
  };
  std::stable_sort(events.begin(), events.end(), [](const PairEvent& a, const PairEvent& b) {
    return std::tie(a.key, a.time) < std::tie(b.key, b.time);
  });
  std::vector<const PairEvent*> open;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const PairEvent& event = events[i];
    if (event.is_begin) {
      open.push_back(&event);
    } else if (open.empty()) {
      lose(losses.end_without_begin, event.offset);
      builder.add_instant(event.track, event.time, event.op, event.offset);
    } else {
      const PairEvent& begin = *open.back();
      open.pop_back();
      builder.add_slice(begin.track, begin.time, event.time - begin.time, begin.op, begin.offset);
    }
    if (i + 1 == events.size() || events[i + 1].key != event.key) {
      for (const PairEvent* begin : open) {
        lose(losses.begin_without_end, begin->offset);
        builder.add_slice(begin->track, begin->time, std::max<Nanoseconds>(0, last - begin->time),
                          begin->op, begin->offset);
      }
      open.clear();
    }
  }
  return losses;
}

FlowLosses add_flows(std::vector<FlowEvent>& events, StoreBuilder& builder) {
  FlowLosses losses;
  const auto lose = [&](std::int64_t& count, std::uint64_t offset) {
    ++count;
    if (losses.places.size() < kKeptPlaces) losses.places.push_back(offset);
  };
  std::stable_sort(events.begin(), events.end(), [](const FlowEvent& a, const FlowEvent& b) {
    return std::tie(a.key, a.time, a.order) < std::tie(b.key, b.time, b.order);
  });
  for (std::size_t first = 0; first < events.size();) {
    std::size_t end = first;
    while (end < events.size() && events[end].key == events[first].key) ++end;
    // A device clock slightly ahead of the host's puts a kernel before its launch: one start and
    // one finish belong together anyway.
    if (end - first == 2 && events[first].order == 2 && events[first + 1].order == 0)
      std::swap(events[first], events[first + 1]);
    const FlowEvent* from = nullptr;
    bool is_used = false;
    for (std::size_t i = first; i < end; ++i) {
      const FlowEvent& event = events[i];
      if (event.order == 0) {
        if (from != nullptr && !is_used) lose(losses.without_finish, from->offset);
        from = &event, is_used = false;
        continue;
      }
      if (from == nullptr) {
        lose(losses.without_start, event.offset);
        continue;
      }
      builder.add_flow(from->track, from->time, event.track, event.time, event.op,
                       event.binds_next);
      ++losses.arrows;
      is_used = true;
      if (event.order == 1)
        from = &event;  // a finish leaves the start open: one launch may start several kernels
    }
    if (from != nullptr && !is_used) lose(losses.without_finish, from->offset);
    first = end;
  }
  return losses;
}
}  // namespace stepcast::trace
