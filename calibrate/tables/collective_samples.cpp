#include "calibrate/tables/collective_samples.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "sim/io/csv.hpp"

namespace stepcast {
namespace {
namespace fs = std::filesystem;

/// nccl-tests adds the launch of every call, some 10 us; from this size on that is under a tenth of
/// any one-node time.
constexpr double kLaunchMatters = 4.0 * 1024 * 1024;

bool is_graph_table(const fs::path& file) { return file.filename() == "nccl_one_node.csv"; }

void read_folder(const std::string& folder, const std::string& root,
                 std::vector<CollectiveSample>& graph, std::vector<CollectiveSample>& launched) {
  const fs::path path = fs::path(root) / "collectives" / folder;
  if (!fs::exists(path)) return;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.path().extension() == ".csv") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    const CsvTable table = CsvTable::read(file.string()).value_or_throw();
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const auto collective = collective_of_log(table.text(row, "collective"));
      const auto ranks = table.number(row, "gpus"), bytes = table.number(row, "message_bytes"),
                 time = table.number(row, "time_us");
      if (!collective || !ranks || !bytes || !time || *ranks < 2 || *bytes <= 0 || *time <= 0)
        continue;
      const std::string source = is_graph_table(file) ? "ai-dynamo/aiconfigurator@095f58a comm/nccl"
                                                      : "VIA-Research/vTrain@f8dda84";
      (is_graph_table(file) ? graph : launched)
          .push_back({*collective, static_cast<int>(*ranks), *bytes, *time * 1e-6, source});
    }
  }
}

void read_logs(const CollectiveSources& sources, const std::string& root,
               std::vector<CollectiveSample>& launched) {
  const fs::path measured = fs::path(root) / "measured";
  if (!fs::exists(measured / "nccl_runs.csv")) return;
  const CsvTable runs = CsvTable::read((measured / "nccl_runs.csv").string()).value_or_throw();
  const CsvTable points = CsvTable::read((measured / "nccl_points.csv").string()).value_or_throw();
  struct Run {
    Collective collective;
    int ranks;
    std::string source;
  };
  std::map<std::string, Run> chosen;
  for (std::size_t row = 0; row < runs.rows(); ++row) {
    const auto& names = sources.accelerators;
    if (std::find(names.begin(), names.end(), runs.text(row, "accelerator")) == names.end())
      continue;
    // NVL72 trays of one rack are one scale-up domain: the log says that no fabric was crossed.
    const bool is_one_domain = runs.text(row, "fabric").rfind("none", 0) == 0;
    // A run that switched an algorithm off or forced one says nothing about what NCCL does by
    // itself.
    const bool is_forced = runs.text(row, "note").find("forced") != std::string::npos;
    const auto collective = collective_of_log(runs.text(row, "collective"));
    const auto ranks = runs.number(row, "nranks");
    if (!is_one_domain || is_forced || runs.text(row, "quality") != "good" || !collective || !ranks)
      continue;
    chosen.emplace(runs.text(row, "log_id"),
                   Run{*collective, static_cast<int>(*ranks), runs.text(row, "source")});
  }
  for (std::size_t row = 0; row < points.rows(); ++row) {
    const auto run = chosen.find(points.text(row, "log_id"));
    const auto bytes = points.number(row, "size_bytes"), time = points.number(row, "time_us");
    if (run == chosen.end() || !bytes || !time || *bytes <= 0 || *time <= 0) continue;
    launched.push_back(
        {run->second.collective, run->second.ranks, *bytes, *time * 1e-6, run->second.source});
  }
}
}  // namespace

std::optional<Collective> collective_of_log(const std::string& name) {
  static const std::map<std::string, std::string> other_names{{"alltoall", "all_to_all"},
                                                              {"sendrecv", "send_recv"}};
  const auto it = other_names.find(name);
  return enum_from_text<Collective>(it == other_names.end() ? name : it->second);
}

const std::vector<CollectiveSources>& collective_sources() {
  // In-switch reduction starts above 4 ranks on Hopper and above 5 on Blackwell:
  // stas00/ml-engineering@744d01e1 network/README.md, runs with it on and off at 4 to 8 ranks. Link
  // rates: vendor datasheets, as in scenarios/clusters.
  static const std::vector<CollectiveSources> all{
      {"v100-sxm2-16g", {"vtrain-v100"}, {"V100-SXM2-16GB", "V100-SXM2-32GB"}, "", 0, 150},
      {"v100-sxm2-32g", {"vtrain-v100"}, {"V100-SXM2-16GB", "V100-SXM2-32GB"}, "", 0, 150},
      {"a100-sxm4-80g",
       {"a100-sxm4-80g", "vtrain-a100"},
       {"A100-SXM4", "A100-SXM4-80GB"},
       "",
       0,
       300},
      {"a100-sxm4-40g", {}, {}, "a100-sxm4-80g", 0, 300},
      {"h100-sxm5-80g", {"h100-sxm5-80g"}, {"H100-SXM5-80GB"}, "", 5, 450},
      {"h200-sxm5-141g", {"h200-sxm5-141g"}, {"H200"}, "h100-sxm5-80g", 5, 450},
      {"b200-sxm", {"b200-sxm"}, {"B200"}, "", 6, 900},
      {"b300-sxm", {}, {"B300"}, "b200-sxm", 6, 900},
      {"gb200", {"gb200"}, {"GB200"}, "b200-sxm", 6, 900},
      {"gb300", {}, {"GB300"}, "gb200", 6, 900},
      {"mi300x", {"mi300x"}, {"MI300X"}, "", 0, 448},
      {"mi325x", {"mi325x"}, {"MI325X"}, "mi300x", 0, 448},
      {"l40s", {"l40s"}, {"L40S"}, "", 0, 31},
  };
  return all;
}
const CollectiveSources* sources_of(const std::string& gpu) {
  for (const CollectiveSources& sources : collective_sources())
    if (sources.gpu == gpu) return &sources;
  return nullptr;
}

std::vector<CollectiveSample> collective_samples(const CollectiveSources& sources,
                                                 const std::string& data_root,
                                                 const SampleFilter& filter) {
  std::vector<CollectiveSample> graph, launched;
  for (const std::string& folder : sources.folders) read_folder(folder, data_root, graph, launched);
  read_logs(sources, data_root, launched);
  if (filter) {
    const auto drop = [&](std::vector<CollectiveSample>& samples) {
      std::erase_if(samples, [&](const CollectiveSample& s) { return !filter(s); });
    };
    drop(graph);
    drop(launched);
  }
  std::map<std::pair<Collective, int>, double> largest_graph;
  for (const CollectiveSample& sample : graph) {
    double& largest = largest_graph[{sample.collective, sample.ranks}];
    largest = std::max(largest, sample.bytes);
  }
  std::vector<CollectiveSample> all = graph;
  for (const CollectiveSample& sample : launched) {
    const auto covered = largest_graph.find({sample.collective, sample.ranks});
    if (covered == largest_graph.end() || sample.bytes >= kLaunchMatters) all.push_back(sample);
  }
  return all;
}
}  // namespace stepcast
