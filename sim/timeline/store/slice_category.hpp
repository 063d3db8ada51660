#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "sim/core/enum_text.hpp"
#include "sim/timeline/category.hpp"

/// What a slice is, for colours, state lanes and statistics. Sixteen, so that a level-of-detail
/// cell names one in four bits.
namespace stepcast::trace {
enum class SliceCategory : std::uint8_t {
  compute,
  optimizer,
  compression,
  exposed_tp,
  exposed_pp,
  exposed_dp,
  exposed_ep,
  exposed_cp,  // communication by group; dp also where nothing tells the group
  overlapped,  // communication with compute of the same rank over most of it
  bubble,
  straggler_wait,
  data,
  checkpoint,
  failure,
  launch_gap,
  other  // host calls, ranges, copies; in a state lane: idle time is no category but the absence of
         // one
};
inline constexpr int kSliceCategories = 16;

constexpr bool is_communication(SliceCategory c) {
  return c >= SliceCategory::exposed_tp && c <= SliceCategory::overlapped;
}
constexpr bool is_computing(SliceCategory c) { return c <= SliceCategory::compression; }
/// Marked in a level-of-detail cell even where it covers a ten-thousandth of the pixel.
constexpr bool is_rare(SliceCategory c) {
  return c == SliceCategory::failure || c == SliceCategory::checkpoint;
}
/// Who owns a moment of a rank when several hold, lowest first:
/// failure, checkpoint, compute, straggler wait, exposed communication, data, bubble, launch gap,
/// other. With it the categories of a rank and its idle time add up to the wall time.
int state_priority(SliceCategory category);
SliceCategory slice_category_of(Category category);
}  // namespace stepcast::trace

template <>
struct stepcast::EnumText<stepcast::trace::SliceCategory> {
  using C = stepcast::trace::SliceCategory;
  static constexpr std::array<std::pair<C, std::string_view>, stepcast::trace::kSliceCategories>
      table{{{C::compute, "compute"},
             {C::optimizer, "optimizer"},
             {C::compression, "compression"},
             {C::exposed_tp, "exposed_tp"},
             {C::exposed_pp, "exposed_pp"},
             {C::exposed_dp, "exposed_dp"},
             {C::exposed_ep, "exposed_ep"},
             {C::exposed_cp, "exposed_cp"},
             {C::overlapped, "overlapped"},
             {C::bubble, "bubble"},
             {C::straggler_wait, "straggler_wait"},
             {C::data, "data"},
             {C::checkpoint, "checkpoint"},
             {C::failure, "failure"},
             {C::launch_gap, "launch_gap"},
             {C::other, "other"}}};
};
