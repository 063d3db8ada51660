#include "sim/cluster/gpu_catalogue.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "sim/io/json.hpp"

namespace stepcast {
namespace {
/// One line of the catalogue, in datasheet units. 0 = the datasheet names no such rate.
struct Row {
  const char* name;
  double fp32, tf32, fp16, bf16, fp8, int8;  // dense TFLOP/s (int8: TOP/s)
  double memory_GiB, memory_GBps;
  int compute_units;  // SMs, CUs, cores
};
// Source: vendor datasheets, cross-read in stas00/ml-engineering@744d01e1
// (compute/accelerator/README.md) and ai-dynamo/aiconfigurator@095f58a (systems/*.yaml). fp16 of
// P100 is its vector rate, of V100 and T4 their tensor rate. "GB" of HBM on datasheets counts 2^30
// (an 80 GB part shows 81559 MiB).
constexpr Row kRows[] = {
    {"p100-sxm2-16g", 10.6, 0, 21.2, 0, 0, 0, 16, 732, 56},
    {"v100-sxm2-16g", 15.7, 0, 125, 0, 0, 62, 16, 900, 80},
    {"v100-sxm2-32g", 15.7, 0, 125, 0, 0, 62, 32, 900, 80},
    {"v100-sxm3-32g", 16.4, 0, 130, 0, 0, 62, 32, 980, 80},
    {"t4", 8.1, 0, 65, 0, 0, 130, 16, 320, 40},
    {"a10g", 35, 70, 70, 70, 0, 140, 24, 600, 80},
    {"a100-sxm4-40g", 19.5, 156, 312, 312, 0, 624, 40, 1555, 108},
    {"a100-sxm4-80g", 19.5, 156, 312, 312, 0, 624, 80, 2039, 108},
    {"a100-pcie-80g", 19.5, 156, 312, 312, 0, 624, 80, 1935, 108},
    {"a30", 10.3, 82, 165, 165, 0, 330, 24, 933, 56},
    {"l4", 30.3, 60, 121, 121, 242, 242, 24, 300, 58},
    {"l40s", 91.6, 183, 362, 362, 733, 733, 48, 864, 142},
    {"h100-pcie-80g", 51, 378, 756, 756, 1513, 1513, 80, 2000, 114},
    {"h100-sxm5-80g", 67, 494.5, 989, 989, 1979, 1979, 80, 3350, 132},
    {"h100-96g-hbm2e", 67, 494.5, 989, 989, 1979, 1979, 96, 2400, 132},
    {"gh200-96g", 67, 494.5, 989, 989, 1979, 1979, 96, 4000, 132},
    {"gh200-144g", 67, 494.5, 989, 989, 1979, 1979, 141, 4800, 132},
    {"h200-sxm5-141g", 67, 494.5, 989, 989, 1979, 1979, 141, 4800, 132},
    {"h20", 44, 74, 148, 148, 296, 296, 96, 4000, 78},
    {"b200-sxm", 80, 1125, 2250, 2250, 4500, 4500, 180, 8000, 148},
    {"gb200", 80, 1250, 2500, 2500, 5000, 5000, 186, 8000, 152},
    {"b300-sxm", 80, 1125, 2250, 2250, 4500, 153, 288, 8000, 160},
    {"gb300", 80, 1250, 2500, 2500, 5000, 165, 288, 8000, 160},
    {"rtx-pro-6000", 0, 0, 468, 468, 936, 936, 96, 1792, 188},
    {"mi250x", 47.9, 0, 383, 383, 0, 383, 128, 3277, 220},
    {"mi300x", 163.4, 653.7, 1307, 1307, 2615, 2615, 192, 5300, 304},
    {"mi325x", 163.4, 653.7, 1307, 1307, 2615, 2615, 256, 6000, 304},
    {"mi350x", 144, 0, 2300, 2300, 4600, 4600, 288, 8000, 256},
    {"mi355x", 157.3, 0, 2500, 2500, 5000, 5000, 288, 8000, 256},
    {"gaudi2", 0, 0, 432, 432, 865, 0, 96, 2450, 24},
    {"gaudi3", 229, 459, 1677, 1677, 1677, 0, 128, 3700, 64},
    {"trainium2", 181, 667, 667, 667, 1299, 0, 96, 2900, 0},
    {"tpu-v3", 0, 0, 123, 123, 0, 123, 32, 900, 2},
    {"tpu-v4", 0, 0, 275, 275, 0, 275, 32, 1228, 2},
    {"tpu-v5e", 0, 0, 197, 197, 0, 394, 16, 819, 1},
    {"tpu-v5p", 0, 0, 459, 459, 0, 918, 95, 2765, 2},
    {"tpu-v6e", 0, 0, 918, 918, 918, 1836, 32, 1640, 1},
    {"tpu-v7x", 0, 0, 2307, 2307, 4614, 0, 192, 7370, 2},
    {"a100-pcie-40g", 19.5, 156, 312, 312, 0, 624, 40, 1555, 108},
    {"v100-pcie-32g", 14, 0, 112, 0, 0, 56, 32, 900, 80},
    {"cpu-xeon-8480c", 7.2, 0, 0, 229, 0, 458, 1024, 307,
     56},  // one socket: 56 cores at 2.0 GHz, AVX-512 64 and AMX 2048 flop per cycle
};

/// How each peak is spelled in JSON, by Precision.
constexpr std::array<const char*, 6> kPeakKeys{"peak_fp32_TFLOP_per_s", "peak_tf32_TFLOP_per_s",
                                               "peak_fp16_TFLOP_per_s", "peak_bf16_TFLOP_per_s",
                                               "peak_fp8_TFLOP_per_s",  "peak_int8_TOP_per_s"};
/// Boards of one make hold unlike clocks under one power limit. Fixed-clock accelerators (TPU and
/// the like) and processors of a machine at hand: nothing published, none assumed.
/// Sinha et al., "Not All GPUs Are Created Equal", SC 2022: over five fleets of V100, MI60 and
/// RTX 5000 the whiskers of a box plot of run times lie 8 % apart, 5.4 sigma of a normal, which
/// bounds sigma by 1.5 % for products that run at the power limit. Of 0, 1, 1.5 and 2 % the
/// steps of 8 to 8192 GPUs in tests/fidelity/validate fit 1 % best row by row, and 2 % when every
/// table weighs the same.
constexpr double kClockSpread = 0.01;
double clock_spread_of(std::string_view name) {
  for (const std::string_view fixed : {"tpu", "trainium", "gaudi", "cpu"})
    if (name.starts_with(fixed)) return 0;
  return kClockSpread;
}
constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

GpuSpec spec_of(const Row& row) {
  GpuSpec gpu;
  gpu.name = row.name;
  gpu.clock_spread = clock_spread_of(row.name);
  gpu.peak_flops = {row.fp32 * 1e12, row.tf32 * 1e12, row.fp16 * 1e12,
                    row.bf16 * 1e12, row.fp8 * 1e12,  row.int8 * 1e12};
  gpu.memory_bandwidth = BytesPerSecond(row.memory_GBps * 1e9);
  gpu.memory = Bytes(std::llround(row.memory_GiB * kGiB));
  gpu.compute_units = row.compute_units;
  return gpu;
}

GpuSpec read_gpu_object(ObjectReader reader) {
  GpuSpec gpu;
  const bool has_base = reader.has("base");
  if (has_base) {
    const std::string base = reader.text("base");
    if (const auto known = find_gpu(base))
      gpu = *known;
    else
      reader.unknown_choice("base", base, gpu_names());
  }
  gpu.name = reader.text("name", has_base ? std::optional<std::string>(gpu.name) : std::nullopt);
  for (std::size_t p = 0; p < kPeakKeys.size(); ++p)
    gpu.peak_flops[p] =
        reader.number(kPeakKeys[p], {.fallback = gpu.peak_flops[p] / 1e12, .max = 1e6}) * 1e12;
  if (*std::max_element(gpu.peak_flops.begin(), gpu.peak_flops.end()) <= 0)
    reader.problem("", "states no compute peak",
                   std::string("give ") + kPeakKeys[3] + " or a \"base\"");
  const auto fallback = [&](double value) {
    return has_base ? std::optional<double>(value) : std::nullopt;
  };
  gpu.memory_bandwidth = BytesPerSecond(
      reader.number(
          "memory_GBps",
          {.fallback = fallback(gpu.memory_bandwidth.value / 1e9), .min = 1, .max = 1e6}) *
      1e9);
  gpu.memory = Bytes(std::llround(
      reader.number("memory_GiB",
                    {.fallback = fallback(static_cast<double>(gpu.memory.value) / kGiB),
                     .min = 0.1,
                     .max = 1e5}) *
      kGiB));
  gpu.compute_units = static_cast<int>(
      reader.integer("compute_units", {.fallback = gpu.compute_units, .min = 0, .max = 100000}));
  gpu.clock_scale = reader.number("clock_scale", {.fallback = 1.0, .min = 0.01, .max = 10});
  reader.done();
  return gpu;
}
}  // namespace

const std::vector<GpuSpec>& gpu_catalogue() {
  static const std::vector<GpuSpec> catalogue = [] {
    std::vector<GpuSpec> all;
    for (const Row& row : kRows) all.push_back(spec_of(row));
    return all;
  }();
  return catalogue;
}
std::vector<std::string> gpu_names() {
  std::vector<std::string> names;
  for (const GpuSpec& gpu : gpu_catalogue()) names.push_back(gpu.name);
  return names;
}
std::optional<GpuSpec> find_gpu(const std::string& name) {
  for (const GpuSpec& gpu : gpu_catalogue())
    if (gpu.name == name) return gpu;
  return std::nullopt;
}

GpuSpec read_gpu(ObjectReader& reader, const std::string& key) {
  const Json* value = reader.raw(key);
  if (value != nullptr && value->is_string()) {
    const std::string name = reader.text(key);
    if (const auto known = find_gpu(name)) return *known;
    reader.unknown_choice(key, name, gpu_names());
    return gpu_catalogue().front();
  }
  if (auto object = reader.object(key)) return read_gpu_object(*object);
  reader.problem(key, "is missing; an accelerator's name or an object is expected",
                 "for example \"h100-sxm5-80g\"");
  return gpu_catalogue().front();
}

Json json_of(const GpuSpec& gpu) {
  Json json{{"name", gpu.name}};
  for (std::size_t p = 0; p < kPeakKeys.size(); ++p)
    if (gpu.peak_flops[p] > 0) json[kPeakKeys[p]] = gpu.peak_flops[p] / 1e12;
  json["memory_GBps"] = gpu.memory_bandwidth.value / 1e9;
  json["memory_GiB"] = static_cast<double>(gpu.memory.value) / kGiB;
  if (gpu.compute_units > 0) json["compute_units"] = gpu.compute_units;
  if (gpu.clock_scale != 1.0) json["clock_scale"] = gpu.clock_scale;
  return json;
}
}  // namespace stepcast
