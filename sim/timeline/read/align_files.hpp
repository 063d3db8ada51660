#pragma once
#include <vector>

#include "sim/timeline/read/chrome_builder.hpp"

namespace stepcast::trace {
/// What alignment needs of a file once its slices are in the common builder.
struct FileClock {
  std::string path;
  int rank = -1;
  std::vector<CollectiveMark> marks;
  std::vector<std::string> keys;
  std::vector<StepMarkSeen> steps;
  std::uint32_t first_source = 0, sources = 0;
  std::size_t index = 0;  // among the opened files: the first one's clock is everybody's
};
/// Offsets by the ends of matched collectives (import's align_clocks: median, applied where clear
/// of the residual), into `builder`.
void align_files(const std::vector<FileClock>& files, StoreBuilder& builder, Anomalies& anomalies);
}  // namespace stepcast::trace
