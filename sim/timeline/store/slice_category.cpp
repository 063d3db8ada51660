#include "sim/timeline/store/slice_category.hpp"

namespace stepcast::trace {
int state_priority(SliceCategory category) {
  switch (category) {
    case SliceCategory::failure:
      return 0;
    case SliceCategory::checkpoint:
      return 1;
    case SliceCategory::compute:
    case SliceCategory::optimizer:
    case SliceCategory::compression:
      return 2;
    case SliceCategory::straggler_wait:
      return 3;
    case SliceCategory::exposed_tp:
    case SliceCategory::exposed_pp:
    case SliceCategory::exposed_dp:
    case SliceCategory::exposed_ep:
    case SliceCategory::exposed_cp:
    case SliceCategory::overlapped:
      return 4;
    case SliceCategory::data:
      return 5;
    case SliceCategory::bubble:
      return 6;
    case SliceCategory::launch_gap:
      return 7;
    case SliceCategory::other:
      return 8;
  }
  return 8;
}

SliceCategory slice_category_of(Category category) {
  switch (category) {
    case Category::compute:
      return SliceCategory::compute;
    case Category::exposed_tp:
      return SliceCategory::exposed_tp;
    case Category::exposed_pp:
      return SliceCategory::exposed_pp;
    case Category::exposed_dp:
      return SliceCategory::exposed_dp;
    case Category::exposed_ep:
      return SliceCategory::exposed_ep;
    case Category::exposed_cp:
      return SliceCategory::exposed_cp;
    case Category::bubble:
      return SliceCategory::bubble;
    case Category::straggler_wait:
      return SliceCategory::straggler_wait;
    case Category::compression:
      return SliceCategory::compression;
    case Category::data_stall:
      return SliceCategory::data;
    case Category::optimizer:
      return SliceCategory::optimizer;
    case Category::launch_gap:
      return SliceCategory::launch_gap;
    case Category::other:
      return SliceCategory::other;
  }
  return SliceCategory::other;
}
}  // namespace stepcast::trace
