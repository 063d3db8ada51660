#pragma once
#include <memory>
#include <vector>

#include "sim/timeline/lod/lod.hpp"
#include "sim/timeline/stats/collectives.hpp"
#include "sim/timeline/stats/critical_path.hpp"
#include "sim/timeline/stats/op_statistics.hpp"
#include "sim/timeline/stats/ranks.hpp"
#include "sim/timeline/steps/steps.hpp"
#include "sim/timeline/store/trace_store.hpp"

namespace stepcast::gui {
/// Everything derived from one trace, as immutable values that views share. A null pointer: not
/// computed yet.
struct TraceFacts {
  trace::TracePtr trace;
  std::shared_ptr<const trace::LodPyramid> states;  // one row per rank, in the store's order
  std::shared_ptr<const trace::LodPyramid> lanes;   // one row per lane
  std::shared_ptr<const trace::Steps> steps;
  std::shared_ptr<const std::vector<trace::CollectiveRun>> runs;
  std::shared_ptr<const std::vector<trace::RankStatistics>> ranks;
  std::shared_ptr<const trace::StepMatrix> matrix;
  std::shared_ptr<const std::vector<trace::OpStatistics>> ops;
  std::shared_ptr<const trace::CriticalPath> critical;
};
}  // namespace stepcast::gui
