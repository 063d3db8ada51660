#pragma once
#include <string>
#include <vector>

#include "calibrate/measure/journal.hpp"
#include "sim/workload/op.hpp"

namespace stepcast::calibrate {
/// Keys of isolated kernels ("sweep/" + kernel_key) read back into shapes; entries of other kinds
/// are passed over.
struct GemmEntry {
  Precision precision;
  GemmShape shape;
  std::string direction;
  double seconds;
};
struct AttentionEntry {
  Precision precision;
  AttentionShape shape;
  double seconds;
};
struct StreamEntry {
  std::string kind, direction;
  double bytes, seconds;
};

std::vector<GemmEntry> gemms(const std::vector<Entry>& entries);
std::vector<AttentionEntry> attentions(const std::vector<Entry>& entries);
std::vector<StreamEntry> streams(const std::vector<Entry>& entries);
}  // namespace stepcast::calibrate
