#include "sim/profile/profile.hpp"

#include "sim/cluster/gpu_catalogue.hpp"
#include "sim/io/json.hpp"
#include "sim/profile/text_of_profile.hpp"

namespace stepcast {
namespace {

/// Version of the format; a reader of another version says so instead of guessing.
constexpr int kFormat = 1;

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
  profile.gpu = read_gpu(reader, "gpu");
  profile.sources = reader.texts("sources");
  profile.datasheet_only = reader.texts("datasheet_only");
  if (auto kernels = reader.object("kernels")) profile.kernels = read_kernel_profile(*kernels);
  if (auto collectives = reader.object("collectives"))
    profile.collectives = read_collective_profile(*collectives);
  reader.done();
  if (!problems.empty()) return problems;
  return profile;
}

Json json_of(const Profile& profile) {
  return {{"stepcast_profile", kFormat},         {"name", profile.name},
          {"description", profile.description},  {"gpu", json_of(profile.gpu)},
          {"sources", profile.sources},          {"datasheet_only", profile.datasheet_only},
          {"kernels", json_of(profile.kernels)}, {"collectives", json_of(profile.collectives)}};
}

namespace {
/// Arrays of numbers on one line (a grid of ten thousand nodes is one line), objects one key per
/// line.
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
