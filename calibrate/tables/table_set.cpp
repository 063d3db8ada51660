#include "calibrate/tables/table_set.hpp"

#include <filesystem>

namespace stepcast {
namespace {
std::string path_of(const std::string& folder, const std::string& gpu_folder,
                    const std::string& file) {
  // Tables of several GPUs stand above the folders; SOURCES.csv names their GPUs in brackets.
  return folder + "/kernels/" + (gpu_folder.starts_with('(') ? "" : gpu_folder + "/") + file;
}
std::optional<std::size_t> source_row(const CsvTable& sources, const std::string& gpu_folder,
                                      const std::string& file) {
  for (std::size_t row = 0; row < sources.rows(); ++row)
    if (sources.text(row, "gpu_folder") == gpu_folder && sources.text(row, "file") == file)
      return row;
  return std::nullopt;
}
/// The two tables that README.md of the data folder cites in place of SOURCES.csv.
constexpr const char* kUnlistedOrigin = "ai-dynamo/aiconfigurator 095f58a, systems/data";
constexpr const char* kUnlistedLicence = "Apache-2.0";
bool is_shippable(const std::string& licence) {
  return licence == "MIT" || licence == "Apache-2.0";
}
/// Which files came without a line of their own in SOURCES.csv.
bool is_unlisted_aiconfigurator(const std::string& file) {
  return file == "gemm.csv.gz" || file == "attention_forward.csv.gz";
}
}  // namespace

Result<TableSet> TableSet::open(const std::string& folder) {
  auto sources = CsvTable::read(folder + "/kernels/SOURCES.csv");
  if (!sources) return sources.problems();
  return TableSet(folder, std::move(*sources));
}

std::string TableSet::licence(const std::string& gpu_folder, const std::string& file) const {
  if (const auto row = source_row(sources_, gpu_folder, file))
    return sources_.text(*row, "licence");
  return is_unlisted_aiconfigurator(file) ? kUnlistedLicence : "not stated";
}

bool TableSet::has_shippable(const std::string& gpu_folder, const std::string& file) const {
  return std::filesystem::exists(path_of(folder_, gpu_folder, file)) &&
         is_shippable(licence(gpu_folder, file));
}

std::string TableSet::origin(const std::string& gpu_folder, const std::string& file) const {
  if (const auto row = source_row(sources_, gpu_folder, file)) return sources_.text(*row, "source");
  return kUnlistedOrigin;
}

CsvTable TableSet::kernels(const std::string& gpu_folder, const std::string& file) {
  const std::string terms = licence(gpu_folder, file);
  if (!is_shippable(terms))
    throw InputError(Problem{path_of(folder_, gpu_folder, file), "",
                             "licence \"" + terms + "\" does not allow shipping a fit of it",
                             "profiles are computed from MIT and Apache-2.0 tables only"});
  citations_.insert(gpu_folder + "/" + file + ": " + origin(gpu_folder, file) + " (" + terms + ")");
  return CsvTable::read(path_of(folder_, gpu_folder, file)).value_or_throw();
}

std::vector<std::string> TableSet::take_citations() {
  std::vector<std::string> list(citations_.begin(), citations_.end());
  citations_.clear();
  return list;
}
}  // namespace stepcast
