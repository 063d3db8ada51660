#include "sim/engine/lowering/loader_lowering.hpp"

#include <map>

namespace stepcast {
LoaderSite loader_site(const Scenario& scenario, const Placement& placement,
                       const std::vector<const Block*>& blocks_of_workers, Job& job) {
  LoaderSite site;
  if (!scenario.data) return site;
  const ParallelLayout& layout = scenario.parallel;
  site.batch_samples = static_cast<double>(scenario.training.micro_batch);
  site.round_samples = site.batch_samples * layout.dp;
  site.batches_per_step = static_cast<int>(micro_batch_count(layout, scenario.training));
  site.seed = scenario.run.seed;
  std::map<int, std::uint32_t> known;  // physical node -> node of the site
  for (std::size_t w = 0; w < job.workers.size(); ++w) {
    Worker& worker = job.workers[w];
    if (worker.stage != 0 && worker.stage + 1 != layout.pp) continue;
    worker.loader = static_cast<std::int32_t>(site.consumers.size());
    std::vector<std::uint32_t>& processes = site.consumers.emplace_back();
    for (const int rank : blocks_of_workers[w]->ranks) {
      if (coordinates_of(rank, layout).tp != 0) continue;
      const int node = placement.node[static_cast<std::size_t>(rank)];
      const auto [at, is_new] =
          known.try_emplace(node, static_cast<std::uint32_t>(site.nodes.size()));
      if (is_new) {
        const NodeSpec& spec = scenario.cluster.node(node);
        site.nodes.push_back(
            {static_cast<double>(worker.multiplicity), spec.nic_bandwidth.value * spec.nics});
      }
      processes.push_back(at->second);
    }
  }
  return site;
}
}  // namespace stepcast
