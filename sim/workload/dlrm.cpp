#include "sim/core/assert.hpp"
#include "sim/workload/other_models.hpp"

namespace stepcast {
DlrmSpec read_dlrm(ObjectReader& reader) {
  reader.problem("kind", "\"dlrm\" is not supported yet; transformer, moe and custom are");
  return {};
}
ModelWork dlrm_work(const DlrmSpec&, const Shard&) { STEPCAST_ASSERT(false, "read_dlrm refuses"); return {}; }
double dlrm_forward_flops(const DlrmSpec&) { return 0; }
std::int64_t dlrm_parameters(const DlrmSpec&) { return 0; }
}  // namespace stepcast
