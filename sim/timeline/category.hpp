#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "sim/core/enum_text.hpp"

namespace stepcast {
/// Who owns a moment of a rank's step. Each moment has one owner; they sum to the step.
enum class Category : std::uint8_t {
  compute,
  exposed_tp,
  exposed_pp,
  exposed_dp,
  exposed_ep,
  exposed_cp,
  bubble,
  straggler_wait,
  compression,
  data_stall,
  optimizer,
  launch_gap,
  other
};
inline constexpr int kCategories = 13;
template <>
struct EnumText<Category> {
  static constexpr std::array<std::pair<Category, std::string_view>, kCategories> table{
      {{Category::compute, "compute"},
       {Category::exposed_tp, "exposed_tp"},
       {Category::exposed_pp, "exposed_pp"},
       {Category::exposed_dp, "exposed_dp"},
       {Category::exposed_ep, "exposed_ep"},
       {Category::exposed_cp, "exposed_cp"},
       {Category::bubble, "bubble"},
       {Category::straggler_wait, "straggler_wait"},
       {Category::compression, "compression"},
       {Category::data_stall, "data_stall"},
       {Category::optimizer, "optimizer"},
       {Category::launch_gap, "launch_gap"},
       {Category::other, "other"}}};
};
using Breakdown = std::array<double, kCategories>;  // seconds per category
}  // namespace stepcast
