#include "calibrate/tables/kernel_fits.hpp"
#include "sim/cost/roofline.hpp"

namespace stepcast {
namespace {
const std::vector<std::string> kGemmFeatures{"m", "n", "k"};
/// Rows timed one call at a time carry a host floor of 25-100 us; above 200 us it is below the
/// noise.
constexpr double kHostFloorCut_us = 200;

ShapeSample gemm_sample(double m, double n, double k, double batch, double time_us,
                        Precision precision, const GpuSpec& gpu) {
  const auto whole = [](double x) { return static_cast<std::int64_t>(x); };
  const GemmShape shape{whole(m), whole(n), whole(k), whole(batch), false};
  const Seconds roofline = roofline_time(gemm_amounts(shape, precision), precision, gpu);
  return {{m * batch, n, k, 0}, roofline.value / (time_us * 1e-6)};
}
KernelFamily fit_scattered(const std::string& name, const std::vector<ShapeSample>& samples,
                           const std::string& source) {
  const auto fit = [&](const std::vector<ShapeSample>& s) {
    return fit_points(name, kGemmFeatures, {}, {2, 2, 2, 0}, s, source);
  };
  KernelFamily family = fit(samples);
  family.hold_out_error = hold_out_error(samples, fit);
  return family;
}
}  // namespace

std::vector<ShapeSample> gemm_samples(const CsvTable& table, const std::string& dtype,
                                      Precision precision, const GpuSpec& gpu) {
  std::vector<ShapeSample> samples;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.text(row, "dtype") != dtype) continue;
    const auto m = table.number(row, "m"), n = table.number(row, "n"), k = table.number(row, "k"),
               t = table.number(row, "time_us");
    if (m && n && k && t && *t > 0)
      samples.push_back(gemm_sample(*m, *n, *k, 1, *t, precision, gpu));
  }
  return samples;
}

KernelFamily fit_gemm(const std::string& name, const std::vector<ShapeSample>& samples,
                      const std::string& source) {
  const auto fit = [&](const std::vector<ShapeSample>& s) {
    return fit_grid(name, kGemmFeatures, s, source);
  };
  KernelFamily family = fit(samples);
  family.hold_out_error = hold_out_error(samples, fit);
  return family;
}

KernelFamily fit_fp32_gemm(const CsvTable& table, const GpuSpec& gpu, const std::string& source) {
  std::vector<ShapeSample> samples;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto batch = table.number(row, "batch"), m = table.number(row, "m"),
               a = table.number(row, "n_inner_as_source"), b = table.number(row, "k_as_source"),
               t = table.number(row, "time_us");
    if (!batch || !m || !a || !b || !t || *t < kHostFloorCut_us) continue;
    samples.push_back(gemm_sample(*m, *b, *a, *batch, *t, Precision::fp32,
                                  gpu));  // the source reduces over its n
  }
  return fit_scattered("gemm/fp32", samples, source);
}

std::vector<KernelFamily> fit_v100_gemm(const CsvTable& table, const GpuSpec& gpu,
                                        const std::string& source) {
  std::vector<KernelFamily> families;
  for (const auto& [text, precision] : {std::pair{"fp16_in_fp32_accumulate", Precision::fp16},
                                        std::pair{"fp32", Precision::fp32}}) {
    std::vector<ShapeSample> samples;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      if (table.text(row, "precision") != text) continue;
      const auto m = table.number(row, "m"), n = table.number(row, "n"), k = table.number(row, "k"),
                 t = table.number(row, "time_us");
      // DeepBench counts in the column-major order of BLAS: its n is the batch of tokens, our m.
      if (m && n && k && t && *t > 0)
        samples.push_back(gemm_sample(*n, *m, *k, 1, *t, precision, gpu));
    }
    families.push_back(
        fit_scattered(std::string("gemm/") + std::string(text_of(precision)), samples, source));
  }
  return families;
}

std::vector<KernelFamily> fit_tuned_gemm(const CsvTable& table, const GpuSpec& gpu,
                                         const std::string& source) {
  std::vector<ShapeSample> bf16, fp8;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& kind = table.text(row, "kind");
    const auto batch = table.number(row, "batch"), m = table.number(row, "m"),
               n = table.number(row, "n"), k = table.number(row, "k"),
               t = table.number(row, "time_us");
    if (!batch || !m || !n || !k || !t || !(*t > 0)) continue;
    const bool is_fp8 = kind.starts_with("fp8");
    (is_fp8 ? fp8 : bf16)
        .push_back(
            gemm_sample(*m, *n, *k, *batch, *t, is_fp8 ? Precision::fp8 : Precision::bf16, gpu));
  }
  std::vector<KernelFamily> families;
  if (!bf16.empty()) families.push_back(fit_scattered("gemm/bf16", bf16, source));
  if (!fp8.empty()) families.push_back(fit_scattered("gemm/fp8", fp8, source));
  return families;
}
}  // namespace stepcast
