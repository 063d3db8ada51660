#include <set>

#include "calibrate/tables/kernel_fits.hpp"
#include "sim/cost/roofline.hpp"

namespace stepcast {
namespace {
/// A doubling of the sequence moves utilisation about twice as much as one of batch x heads, a
/// doubling of the share of heads per kv head less than half as much. Best of seven feature sets on
/// shapes held back, on six GPUs.
const std::vector<std::string> kFeatures{"key_length", "batch_heads", "heads_per_kv_head"};
const std::vector<double> kWeights{2.0, 1.0, 0.4};
}  // namespace

std::vector<ShapeSample> attention_samples(const CsvTable& table, int head_dim,
                                           const GpuSpec& gpu) {
  const bool is_causal = table.has_column("causal_forward_time_us");
  std::vector<ShapeSample> samples;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.number(row, "head_dim") != head_dim) continue;
    if (!is_causal && table.text(row, "dtype") != "bfloat16") continue;
    const auto batch = table.number(row, "batch"), length = table.number(row, "sequence_length"),
               heads = table.number(row, "heads"),
               kv = is_causal ? table.number(row, "kv_heads") : heads,
               t = table.number(row, is_causal ? "causal_forward_time_us" : "time_us");
    if (!batch || !length || !heads || !kv || !t || !(*t > 0)) continue;
    AttentionShape shape;
    shape.batch = static_cast<std::int64_t>(*batch);
    shape.heads = static_cast<std::int64_t>(*heads);
    shape.kv_heads = static_cast<std::int64_t>(*kv);
    shape.query_length = shape.key_length = static_cast<std::int64_t>(*length);
    shape.head_dim_qk = shape.head_dim_v = head_dim;
    shape.causal = is_causal;
    const Precision precision = supported_precision(gpu, Precision::bf16);
    const Seconds roofline = roofline_time(attention_amounts(shape, precision), precision, gpu);
    samples.push_back({{*length, *batch * *heads, *heads / *kv, 0}, roofline.value / (*t * 1e-6)});
  }
  return samples;
}

KernelFamily fit_attention(const std::string& name, const std::vector<ShapeSample>& samples,
                           const std::string& source) {
  const auto fit = [&](const std::vector<ShapeSample>& s) {
    return fit_points(name, kFeatures, kWeights, {4, 2, 1, 0}, s, source);
  };
  KernelFamily family = fit(samples);
  family.hold_out_error = hold_out_error(samples, fit);
  return family;
}

std::vector<KernelFamily> fit_attention_families(const CsvTable& table, const GpuSpec& gpu,
                                                 const std::string& source) {
  std::set<int> head_dims;
  for (std::size_t row = 0; row < table.rows(); ++row)
    if (const auto dim = table.number(row, "head_dim")) head_dims.insert(static_cast<int>(*dim));
  const std::string kind =
      table.has_column("causal_forward_time_us") ? "attention_forward" : "attention_forward_full";
  std::vector<KernelFamily> families;
  for (const int dim : head_dims) {
    const auto samples = attention_samples(table, dim, gpu);
    if (!samples.empty())
      families.push_back(fit_attention(kind + "/bf16/" + std::to_string(dim), samples, source));
  }
  return families;
}
}  // namespace stepcast
