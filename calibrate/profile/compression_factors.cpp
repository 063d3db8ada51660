#include "calibrate/profile/compression_factors.hpp"

#include <cmath>
#include <cstdio>
#include <map>
#include <string>

#include "sim/core/robust_stats.hpp"
#include "sim/cost/cost_model.hpp"
#include "sim/graph/gradient_reduce.hpp"

namespace stepcast::calibrate {
namespace {
/// One entry of the compressor suite; see compressor_key.
struct CompressorEntry {
  CompressionSpec spec;
  std::string scheme, part;
  std::int64_t bytes = 0;
  double value = 0;
};
std::vector<CompressorEntry> compressor_entries(const std::vector<Entry>& entries) {
  std::vector<CompressorEntry> found;
  for (const Entry& entry : entries) {
    char scheme[16] = "", part[16] = "";
    double share = 0;
    int rank = 0;
    long bytes = 0;
    if (std::sscanf(entry.key.c_str(), "compress/%15[^/]/share%lf/rank%d/%15[^/]/%ld", scheme,
                    &share, &rank, part, &bytes) != 5)
      continue;
    const auto known = enum_from_text<CompressionScheme>(scheme);
    if (!known) continue;
    found.push_back({{.scheme = *known, .ratio = share, .rank = rank},
                     scheme,
                     part,
                     bytes,
                     entry.summary.median_s});
  }
  return found;
}

/// A bucket that PowerSGD factors whole, as the runtime does: one nearly square matrix.
GradientBucket bucket_of(const CompressorEntry& entry) {
  GradientBucket bucket;
  bucket.elements = bucket.matrix_elements = entry.bytes / 4;
  const auto side = std::llround(std::ceil(std::sqrt(static_cast<double>(bucket.elements))));
  bucket.factor_p = (bucket.elements + side - 1) / side * entry.spec.rank;
  bucket.factor_q = side * entry.spec.rank;
  return bucket;
}
double seconds_of(const CostModel& cost, const std::vector<Op>& ops) {
  double seconds = 0;
  for (const Op& op : ops) seconds += cost.cost(op).duration.value;
  return seconds;
}
}  // namespace

void add_compression_factors(const std::vector<Entry>& entries, int ranks, Profile& profile) {
  const CostModel cost(profile, profile.gpu, {.host = HostMode::none});
  std::map<std::string, std::vector<double>> figures;
  for (const CompressorEntry& entry : compressor_entries(entries)) {
    if (entry.part == "ratio" || entry.part == "error") {
      figures["compression_" + entry.part + "_" + entry.scheme].push_back(entry.value);
      continue;
    }
    const CompressedBucket code = compressed(entry.spec, bucket_of(entry), 4, ranks);
    const double modelled = entry.part == "encode"
                                ? seconds_of(cost, code.encode) + seconds_of(cost, code.between)
                                : seconds_of(cost, code.decode);
    if (modelled > 0)
      figures[entry.part + "_factor_" + entry.scheme].push_back(entry.value / modelled);
  }
  for (auto& [name, values] : figures) profile.kernels.parameters[name] = median(values);
}
}  // namespace stepcast::calibrate
