#include "sim/core/assert.hpp"
#include "sim/workload/other_models.hpp"

namespace stepcast {
CnnSpec read_cnn(ObjectReader& reader) {
  reader.problem("kind", "\"cnn\" is not supported yet; transformer, moe and custom are");
  return {};
}
ModelWork cnn_work(const CnnSpec&, const Shard&) { STEPCAST_ASSERT(false, "read_cnn refuses"); return {}; }
double cnn_forward_flops(const CnnSpec&) { return 0; }
std::int64_t cnn_parameters(const CnnSpec&) { return 0; }
}  // namespace stepcast
