#include "sim/core/assert.hpp"
#include "sim/schedule/orders.hpp"

namespace stepcast {
std::vector<Work> schedule_work(ScheduleKind kind, int stage, int pp, int micro_batches,
                                int virtual_stages) {
  STEPCAST_ASSERT(stage >= 0 && stage < pp && micro_batches > 0,
                  "check_layout refuses empty pipelines");
  STEPCAST_ASSERT(virtual_stages == 1 || (virtual_stages > 1 && kind == ScheduleKind::interleaved),
                  "check_layout refuses virtual stages without the interleaved schedule");
  switch (kind) {
    case ScheduleKind::gpipe:
      return orders::gpipe(stage, pp, micro_batches);
    case ScheduleKind::one_f_one_b:
      return orders::one_f_one_b(stage, pp, micro_batches);
    case ScheduleKind::interleaved:
      return orders::interleaved(stage, pp, micro_batches, virtual_stages);
    case ScheduleKind::zero_bubble:
      return orders::zero_bubble(stage, pp, micro_batches);
  }
  STEPCAST_ASSERT(false, "every schedule kind is listed above");
}
}  // namespace stepcast
