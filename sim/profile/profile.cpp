#include "sim/profile/profile.hpp"

#include "sim/io/json.hpp"
#include "sim/profile/text_of_profile.hpp"

namespace stepcast {
namespace {

/// Version of the format; a reader of another version says so instead of guessing.
constexpr int kFormat = 1;

GpuSpec read_gpu_datasheet(ObjectReader reader) {
  GpuSpec gpu;
  gpu.name = reader.text("name");
  if (auto peaks = reader.object("peak_TFLOP_per_s")) {
    for (const auto& [precision, text] : EnumText<Precision>::table)
      gpu.peak_flops[static_cast<std::size_t>(precision)] =
          peaks->number(std::string(text), {.fallback = 0, .max = 1e6}) * 1e12;
    peaks->done();
  } else {
    reader.problem("peak_TFLOP_per_s", "is missing; an object of dense peaks by precision is expected");
  }
  gpu.memory_bandwidth = BytesPerSecond(reader.number("memory_bandwidth_GBps", {.min = 1e-3, .max = 1e6}) * 1e9);
  gpu.memory = Bytes(static_cast<std::int64_t>(reader.number("memory_GB", {.min = 1e-3, .max = 1e6}) * 1e9));
  gpu.compute_units = static_cast<int>(reader.integer("compute_units", {.fallback = 0, .max = 100000}));
  reader.done();
  bool has_peak = false;
  for (const double peak : gpu.peak_flops) has_peak = has_peak || peak > 0;
  if (!has_peak) reader.problem("peak_TFLOP_per_s", "no precision has a peak above 0");
  return gpu;
}

Json json_of_datasheet(const GpuSpec& gpu) {
  Json peaks = Json::object();
  for (const auto& [precision, text] : EnumText<Precision>::table)
    if (const double peak = gpu.peak_flops[static_cast<std::size_t>(precision)]; peak > 0)
      peaks[std::string(text)] = peak / 1e12;
  return {{"name", gpu.name}, {"peak_TFLOP_per_s", std::move(peaks)},
          {"memory_bandwidth_GBps", gpu.memory_bandwidth.value / 1e9},
          {"memory_GB", static_cast<double>(gpu.memory.value) / 1e9}, {"compute_units", gpu.compute_units}};
}
}  // namespace

Result<Profile> read_profile(const std::string& path) {
  auto document = read_json_file(path);
  if (!document) return document.problems();
  Problems problems;
  ObjectReader reader(*document, path, "", problems);
  Profile profile;
  reader.integer("stepcast_profile", {.min = kFormat, .max = kFormat});
  profile.name = reader.text("name");
  profile.description = reader.text("description", "");
  if (auto gpu = reader.object("gpu")) profile.gpu = read_gpu_datasheet(*gpu);
  else reader.problem("gpu", "is missing; the datasheet of the calibrated GPU is expected");
  profile.sources = reader.texts("sources");
  profile.datasheet_only = reader.texts("datasheet_only");
  if (auto kernels = reader.object("kernels")) profile.kernels = read_kernel_profile(*kernels);
  if (auto collectives = reader.object("collectives")) profile.collectives = read_collective_profile(*collectives);
  reader.done();
  if (!problems.empty()) return problems;
  return profile;
}

Json json_of(const Profile& profile) {
  return {{"stepcast_profile", kFormat}, {"name", profile.name}, {"description", profile.description},
          {"gpu", json_of_datasheet(profile.gpu)}, {"sources", profile.sources},
          {"datasheet_only", profile.datasheet_only}, {"kernels", json_of(profile.kernels)},
          {"collectives", json_of(profile.collectives)}};
}

namespace {
/// Arrays of numbers on one line (a grid of ten thousand nodes is one line), objects one key per line.
void append(std::string& out, const Json& json, std::size_t depth) {
  const std::string indent(2 * depth, ' ');
  if (json.is_object() && !json.empty()) {
    out += "{\n";
    bool first = true;
    for (const auto& [key, value] : json.items()) {
      if (!first) out += ",\n";
      first = false;
      out += indent + "  " + Json(key).dump() + ": ";
      append(out, value, depth + 1);
    }
    out += "\n" + indent + "}";
  } else if (json.is_array() && !json.empty() && !json.front().is_number()) {
    out += "[\n";
    for (std::size_t i = 0; i < json.size(); ++i) {
      out += indent + "  ";
      append(out, json[i], depth + 1);
      out += i + 1 < json.size() ? ",\n" : "\n";
    }
    out += indent + "]";
  } else {
    out += json.dump();
  }
}
}  // namespace

std::string text_of_profile(const Profile& profile) {
  std::string out;
  append(out, json_of(profile), 0);
  return out + "\n";
}
}  // namespace stepcast
