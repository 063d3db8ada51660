#include "sim/timeline/lod/cell_sums.hpp"

#include <algorithm>

namespace stepcast::trace {

void BinSums::add(SliceCategory category, Nanoseconds begin, Nanoseconds end, Nanoseconds width) {
  const auto last_bin = static_cast<Nanoseconds>(bins_) - 1;
  Nanoseconds bin = begin / width;
  if (begin == end) {
    if (is_rare(category) && bin <= last_bin) of(category)[bin] += 1;
    return;
  }
  float* sums = of(category);
  const Nanoseconds final_bin = std::min(last_bin, (end - 1) / width);
  if (bin > last_bin) return;
  if (bin == final_bin) {
    sums[bin] += static_cast<float>(end - begin);
    return;
  }
  sums[bin] += static_cast<float>((bin + 1) * width - begin);
  for (++bin; bin < final_bin; ++bin) sums[bin] += static_cast<float>(width);
  sums[final_bin] += static_cast<float>(std::min(end, (final_bin + 1) * width) - final_bin * width);
}

void BinSums::add(const BinSums& other) {
  for (const SliceCategory category : other.present_) {
    float* mine = of(category);
    const float* theirs = other.sums_[static_cast<std::size_t>(category)].data();
    for (std::size_t bin = 0; bin < bins_; ++bin) mine[bin] += theirs[bin];
  }
}

void BinSums::clear() {
  for (const SliceCategory category : present_)
    std::fill(sums_[static_cast<std::size_t>(category)].begin(),
              sums_[static_cast<std::size_t>(category)].end(), 0.0F);
}

void BinSums::halve() {
  bins_ /= 2;
  for (const SliceCategory category : present_) {
    auto& sums = sums_[static_cast<std::size_t>(category)];
    for (std::size_t bin = 0; bin < bins_; ++bin) sums[bin] = sums[2 * bin] + sums[2 * bin + 1];
    sums.resize(bins_);
  }
}

LodCell BinSums::cell(std::size_t bin, double area) const {
  std::array<CategorySum, kSliceCategories> sums;
  std::size_t count = 0;
  for (const SliceCategory category : present_)
    if (const float time = sums_[static_cast<std::size_t>(category)][bin]; time > 0)
      sums[count++] = {category, time};
  return count == 0 ? LodCell{0} : cell_of(std::span(sums.data(), count), area);
}

std::vector<SliceCategory> state_categories(const TraceStore& trace) {
  std::vector<SliceCategory> states;
  const auto& ops = trace.ops();
  for (const Op& op : ops) states.push_back(op.shown);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].shown != SliceCategory::overlapped) continue;
    states[i] = SliceCategory::exposed_dp;
    // Its twin of the same name and source category says the group; twins stand at the end, so the
    // search is for few.
    for (const Op& other : ops)
      if (other.name == ops[i].name && other.category == ops[i].category &&
          other.shown != SliceCategory::overlapped && is_communication(other.shown)) {
        states[i] = other.shown;
        break;
      }
  }
  return states;
}

void add_row(const TraceStore& trace, const std::vector<SliceCategory>& state_of_op,
             const LodRow& row, Nanoseconds begin, Nanoseconds end, Nanoseconds width,
             BinSums& sums) {
  if (row.is_state) {
    sweep_states(trace, state_of_op, row, begin, end,
                 [&](Nanoseconds from, Nanoseconds to, SliceCategory category) {
                   sums.add(category, from - begin, to - begin, width);
                 });
    return;
  }
  for (const LaneId lane : row.lanes) {
    const LaneInfo& l = trace.lanes()[lane];
    for (SliceId s = trace.first_ending_after(lane, begin); s < l.first + l.count; ++s) {
      const Nanoseconds start = trace.start(s);
      if (start >= end) break;
      sums.add(trace.category(s), std::max(start, begin) - begin,
               std::min(trace.end(s), end) - begin, width);
    }
  }
}
}  // namespace stepcast::trace
