#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>

#include "calibrate/tables/collective_samples.hpp"
#include "calibrate/tables/fabric_fits.hpp"
#include "sim/core/robust_stats.hpp"
#include "sim/io/csv.hpp"

namespace stepcast {
namespace {
namespace fs = std::filesystem;

/// Accelerator of a log -> catalogue name.
std::optional<std::string> gpu_of(const std::string& accelerator) {
  if (accelerator == "A100-SXM4-40GB") return "a100-sxm4-40g";
  for (const CollectiveSources& sources : collective_sources())
    if (std::find(sources.accelerators.begin(), sources.accelerators.end(), accelerator) !=
        sources.accelerators.end())
      return sources.gpu;
  return std::nullopt;
}

/// Transport by the words of the fabric column; "" when it names none.
std::string transport_of(const std::string& fabric) {
  static const std::vector<std::pair<std::regex, std::string>> words{
      {std::regex("tcpx", std::regex::icase), "tcpx"},
      {std::regex("slingshot", std::regex::icase), "slingshot"},
      {std::regex("efa", std::regex::icase), "efa"},
      {std::regex("roce|gib\\b", std::regex::icase), "roce"},
      {std::regex("omni-?path", std::regex::icase), "omnipath"},
      {std::regex("infiniband|\\bIB (hdr|ndr|edr)", std::regex::icase), "infiniband"}};
  for (const auto& [pattern, transport] : words)
    if (std::regex_search(fabric, pattern)) return transport;
  return "";
}

/// The transport with the software that changes how it behaves. On Slingshot NCCL 2.18 still used
/// LL128 where 2.21 does not, and the provider's variables for MPI's all-to-all triple small
/// all-gathers (argonne-lcf/alcf-nccl-tests@385be336, environments 3 to 5). The plain name:
/// software that the run does not state.
std::string with_software(const std::string& transport, const std::string& library,
                          const std::string& note) {
  if (transport != "slingshot") return transport;
  const bool has_variables = note.find("all-to-all variables") != std::string::npos;
  const std::string name = has_variables ? transport + "-a2a" : transport;
  if (library.find("2.18") != std::string::npos) return name + "-nccl2.18";
  return library.find("2.21") != std::string::npos && !has_variables ? name + "-nccl2.21" : name;
}

struct Nics {
  int count;
  double gigabits;
};
std::optional<Nics> nics_of(const std::string& fabric, int gpus_per_node) {
  static const std::regex counted(R"((\d+)\s*x\s*(\d+)\s*Gb?/s)", std::regex::icase);
  static const std::regex per_node(R"((\d+)\s*Gb/s per node)", std::regex::icase);
  std::smatch found;
  if (std::regex_search(fabric, found, counted))
    return Nics{std::stoi(found[1]), std::stod(found[2])};
  if (std::regex_search(fabric, found, per_node)) return Nics{1, std::stod(found[1])};
  if (fabric.find("NDR") != std::string::npos) return Nics{gpus_per_node, 400};
  if (fabric.find("HDR") != std::string::npos) return Nics{gpus_per_node, 200};
  if (fabric.find("Slingshot 11") != std::string::npos)
    return Nics{2, 200};  // the test system is built of the same nodes
  return std::nullopt;
}

NodeSpec node_of(const std::string& gpu, int gpus, const Nics& nics) {
  NodeSpec node;
  node.gpu.name = gpu;
  node.gpus = gpus;
  node.intra = gpu.starts_with("mi") ? IntraTopology::xgmi : IntraTopology::nvswitch;
  const CollectiveSources* sources = sources_of(gpu);
  node.in_switch_reduction = sources != nullptr && sources->in_switch_min_ranks > 0 &&
                             gpus >= sources->in_switch_min_ranks;
  node.nics = nics.count;
  node.nic_bandwidth = BytesPerSecond(nics.gigabits * 1e9 / 8);
  return node;
}

/// All pairs of an H100 cluster with 1 to 8 GPUs per node: the median pair stands for the hardware,
/// slow pairs for faults. Its network is not named; one GPU per node reaches 39-44 GB/s, so 400
/// Gb/s per GPU, taken as InfiniBand NDR.
void append_pairs(const std::string& root, std::vector<MultiNodeRun>& runs) {
  const fs::path file = fs::path(root) / "measured" / "nccl_pair_matrix.csv";
  if (!fs::exists(file)) return;
  const CsvTable table = CsvTable::read(file.string()).value_or_throw();
  std::map<std::tuple<std::string, int, std::string>, std::map<double, std::vector<double>>> groups;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto per_node = table.number(row, "gpus_per_node"),
               bytes = table.number(row, "size_bytes"), time = table.number(row, "time_us");
    if (!per_node || !bytes || !time) continue;
    groups[{table.text(row, "cluster"), static_cast<int>(*per_node), table.text(row, "collective")}]
          [*bytes]
              .push_back(*time * 1e-6);
  }
  for (auto& [key, sizes] : groups) {
    const auto& [cluster, per_node, name] = key;
    const auto collective = collective_of_log(name);
    if (!collective) continue;
    // A cluster whose single pairs stay under 16 GB/s has another, unnamed network.
    MultiNodeRun run;
    for (auto& [bytes, times] : sizes) run.points.emplace_back(bytes, median(times));
    const double single_rate = run.points.back().first / run.points.back().second;
    if (*collective == Collective::send_recv && single_rate < 16e9) continue;
    if (*collective == Collective::all_to_all && single_rate < 32e9) continue;
    run.id = cluster + " " + name + " " + std::to_string(per_node) + " per node, median pair";
    run.transport = "infiniband";
    run.gpu = "h100-sxm5-80g";
    run.source = "xxrjun/nccl-tests-cluster@455de4f8";
    run.collective = *collective;
    run.shape = {2 * per_node, 2, per_node, 1};
    run.node = node_of(run.gpu, per_node, {per_node, 400});
    runs.push_back(std::move(run));
  }
}
}  // namespace

std::vector<MultiNodeRun> multi_node_runs(const std::string& data_root) {
  const fs::path measured = fs::path(data_root) / "measured";
  std::vector<MultiNodeRun> runs;
  if (!fs::exists(measured / "nccl_runs.csv")) return runs;
  const CsvTable table = CsvTable::read((measured / "nccl_runs.csv").string()).value_or_throw();
  const CsvTable points = CsvTable::read((measured / "nccl_points.csv").string()).value_or_throw();
  std::map<std::string, std::vector<std::pair<double, double>>> by_log;
  for (std::size_t row = 0; row < points.rows(); ++row) {
    const auto bytes = points.number(row, "size_bytes"), time = points.number(row, "time_us");
    if (bytes && time && *bytes > 0 && *time > 0)
      by_log[points.text(row, "log_id")].emplace_back(*bytes, *time * 1e-6);
  }
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& fabric = table.text(row, "fabric");
    const auto nodes = table.number(row, "nodes"), per_node = table.number(row, "gpus_per_node");
    const auto collective = collective_of_log(table.text(row, "collective"));
    const auto gpu = gpu_of(table.text(row, "accelerator"));
    const std::string transport = transport_of(fabric);
    if (table.text(row, "quality") != "good" || !nodes || *nodes < 2 || !per_node || !collective ||
        !gpu || transport.empty())
      continue;
    const auto nics = nics_of(fabric, static_cast<int>(*per_node));
    if (!nics) continue;
    MultiNodeRun run;
    run.id = table.text(row, "log_id");
    run.transport = with_software(transport, table.text(row, "library"), table.text(row, "note"));
    run.gpu = *gpu;
    run.source = table.text(row, "source");
    run.collective = *collective;
    const int n = static_cast<int>(*nodes), r = static_cast<int>(*per_node);
    run.shape = {n * r, n, r, 1};
    run.node = node_of(*gpu, r, *nics);
    run.points = by_log[run.id];
    if (!run.points.empty()) runs.push_back(std::move(run));
  }
  append_pairs(data_root, runs);
  return runs;
}

FabricSpec fabric_of(const MultiNodeRun& run) {
  FabricSpec fabric;
  fabric.kind = FabricKind::single_switch;
  fabric.transport = run.transport;
  return fabric;
}
}  // namespace stepcast
