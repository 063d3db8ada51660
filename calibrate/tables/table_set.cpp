#include "calibrate/tables/table_set.hpp"

#include <filesystem>

namespace stepcast {
namespace {
std::string path_of(const std::string& folder, const std::string& gpu_folder, const std::string& file) {
  return folder + "/kernels/" + gpu_folder + "/" + file;
}
std::optional<std::size_t> source_row(const CsvTable& sources, const std::string& gpu_folder, const std::string& file) {
  for (std::size_t row = 0; row < sources.rows(); ++row)
    if (sources.text(row, "gpu_folder") == gpu_folder && sources.text(row, "file") == file) return row;
  return std::nullopt;
}
/// The two tables that README.md of the data folder cites in place of SOURCES.csv.
constexpr const char* kUnlistedOrigin = "ai-dynamo/aiconfigurator 095f58a, systems/data";
constexpr const char* kUnlistedLicence = "Apache-2.0";
bool is_shippable(const std::string& licence) { return licence == "MIT" || licence == "Apache-2.0"; }
/// Which files came without a line of their own in SOURCES.csv.
bool is_unlisted_aiconfigurator(const std::string& file) { return file == "gemm.csv.gz" || file == "attention_forward.csv.gz"; }
}  // namespace

Result<TableSet> TableSet::open(const std::string& folder) {
  Problems problems;
  auto sources = CsvTable::read(folder + "/kernels/SOURCES.csv");
  auto accelerators = CsvTable::read(folder + "/measured/hw_accelerators.csv");
  if (!sources) problems.add(sources.problems());
  if (!accelerators) problems.add(accelerators.problems());
  if (!problems.empty()) return problems;
  return TableSet(folder, std::move(*sources), std::move(*accelerators));
}

std::string TableSet::licence(const std::string& gpu_folder, const std::string& file) const {
  if (const auto row = source_row(sources_, gpu_folder, file)) return sources_.text(*row, "licence");
  return is_unlisted_aiconfigurator(file) ? kUnlistedLicence : "not stated";
}

bool TableSet::has_shippable(const std::string& gpu_folder, const std::string& file) const {
  return std::filesystem::exists(path_of(folder_, gpu_folder, file)) && is_shippable(licence(gpu_folder, file));
}

std::string TableSet::origin(const std::string& gpu_folder, const std::string& file) const {
  if (const auto row = source_row(sources_, gpu_folder, file)) return sources_.text(*row, "source");
  return kUnlistedOrigin;
}

CsvTable TableSet::kernels(const std::string& gpu_folder, const std::string& file) {
  const std::string terms = licence(gpu_folder, file);
  if (!is_shippable(terms))
    throw InputError(Problem{path_of(folder_, gpu_folder, file), "", "licence \"" + terms + "\" does not allow shipping a fit of it",
                             "profiles are computed from MIT and Apache-2.0 tables only"});
  citations_.insert(gpu_folder + "/" + file + ": " + origin(gpu_folder, file) + " (" + terms + ")");
  return CsvTable::read(path_of(folder_, gpu_folder, file)).value_or_throw();
}

std::vector<std::string> TableSet::take_citations() {
  std::vector<std::string> list(citations_.begin(), citations_.end());
  citations_.clear();
  return list;
}

GpuSpec TableSet::datasheet(const std::string& accelerator, const std::string& profile_name) const {
  for (std::size_t row = 0; row < accelerators_.rows(); ++row) {
    if (accelerators_.text(row, "accelerator") != accelerator) continue;
    const auto number = [&](const char* column) { return accelerators_.number(row, column).value_or(0); };
    GpuSpec gpu;
    gpu.name = profile_name;
    const auto set = [&](Precision p, double tflops) { gpu.peak_flops[static_cast<std::size_t>(p)] = tflops * 1e12; };
    set(Precision::fp32, number("fp32_tflops"));
    set(Precision::tf32, number("tf32_tflops"));
    set(Precision::fp16, number("bf16_tflops"));  // one column for both 16-bit types
    const bool has_bf16 = accelerators_.text(row, "note").find("no bf16") == std::string::npos && number("tf32_tflops") > 0;
    set(Precision::bf16, has_bf16 || number("fp8_tflops") > 0 ? number("bf16_tflops") : 0);
    set(Precision::fp8, number("fp8_tflops"));
    set(Precision::int8, number("int8_tops"));
    gpu.memory_bandwidth = BytesPerSecond(number("mem_GBps") * 1e9);
    gpu.memory = Bytes(static_cast<std::int64_t>(number("mem_GB") * 1e9));
    gpu.compute_units = static_cast<int>(number("compute_units"));
    return gpu;
  }
  throw InputError(Problem{accelerators_.file(), "", "no accelerator \"" + accelerator + "\"", ""});
}
}  // namespace stepcast
