#include "sim/data/loader_site.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace stepcast {
namespace {
constexpr double kUnlimited = std::numeric_limits<double>::infinity();

/// Lognormal spread of the sum of `terms` independent latencies, itself taken as lognormal with the
/// same mean and variance. Source: Fenton, "The sum of log-normal probability distributions in
/// scatter transmission systems", IRE Transactions 1960.
double sigma_of_sum(double sigma, double terms) {
  return std::sqrt(std::log1p(std::expm1(sigma * sigma) / std::max(1.0, terms)));
}

}  // namespace

double LoaderSite::node_count() const {
  double count = 0;
  for (const Node& node : nodes) count += node.multiplicity;
  return count;
}

double LoaderSite::process_count() const {
  double count = 0;
  for (const auto& consumer : consumers)
    for (const std::uint32_t node : consumer) count += nodes[node].multiplicity;
  return count;
}

std::vector<double> LoaderSite::processes_by_node() const {
  std::vector<double> processes(nodes.size(), 0);
  for (const auto& consumer : consumers)
    for (const std::uint32_t node : consumer) ++processes[node];
  return processes;
}

LoaderSite LoaderSite::merged() const {
  LoaderSite out = *this;
  out.nodes.clear();
  out.consumers.clear();
  std::map<std::pair<double, double>, std::size_t> known;
  const std::vector<double> processes = processes_by_node();
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const auto [at, is_new] =
        known.try_emplace({processes[n], nodes[n].nic_rate}, out.nodes.size());
    if (!is_new) {
      out.nodes[at->second].multiplicity += nodes[n].multiplicity;
      continue;
    }
    out.consumers.emplace_back(static_cast<std::size_t>(processes[n]),
                               static_cast<std::uint32_t>(out.nodes.size()));
    out.nodes.push_back(nodes[n]);
  }
  std::erase_if(out.consumers, [](const auto& consumer) { return consumer.empty(); });
  return out;
}

int reader_count(const DataSpec& data, const LoaderSite& site) {
  return data.loader_nodes.count > 0
             ? data.loader_nodes.count
             : std::max(1, static_cast<int>(std::lround(site.node_count())));
}

SupplySpec supply_spec(const DataSpec& data, const LoaderSite& site) {
  const bool is_pooled = data.loader_nodes.count > 0;
  const BatchAmounts amounts = batch_amounts(data, site.batch_samples, reader_count(data, site));
  SupplySpec spec;
  spec.workers = data.workers;
  spec.prefetch = data.workers > 0 ? data.prefetch : 0;
  spec.seed = site.seed;
  spec.shared_storage = shared_read_rate(data, amounts);
  const double request = request_seconds(data, amounts);
  if (request > 0) spec.latency_share = data.storage.latency_s / request;
  if (data.storage.latency_sigma > 0)
    spec.latency_sigma =
        sigma_of_sum(data.storage.latency_sigma, amounts.requests / std::max(1, data.in_flight));

  if (amounts.read_bytes > 0)
    spec.batch.push_back({Station::storage, amounts.read_bytes, worker_read_rate(data, amounts)});
  if (amounts.cached_bytes > 0)
    spec.batch.push_back({Station::cache, amounts.cached_bytes, kUnlimited});
  if (amounts.core_seconds > 0) spec.batch.push_back({Station::cores, amounts.core_seconds, 1});

  SupplySpec::Host host;
  host.capacity = {
      node_read_rate(data, amounts), data.cache.rate > 0 ? data.cache.rate : kUnlimited,
      static_cast<double>(is_pooled ? data.loader_nodes.cores : data.cores), kUnlimited};
  if (!is_pooled) {
    spec.consumers = site.consumers;
    for (const LoaderSite::Node& node : site.nodes) {
      host.multiplicity = node.multiplicity;
      spec.hosts.push_back(host);
    }
    return spec;
  }
  // Each node of the site has its part of the pool; what one process can take in is its part of
  // the training node's ports.
  double ingress = kUnlimited;
  const std::vector<double> processes = site.processes_by_node();
  for (std::size_t n = 0; n < site.nodes.size(); ++n)
    if (processes[n] > 0)
      ingress =
          std::min(ingress, site.nodes[n].nic_rate / (processes[n] * std::max(1, data.workers)));
  spec.batch.push_back({Station::nic, amounts.sent_bytes, ingress});
  host.capacity[static_cast<std::size_t>(Station::nic)] = data.loader_nodes.nic_rate;
  host.multiplicity = 1;
  for (const LoaderSite::Node& node : site.nodes)
    host.multiplicity = std::max(host.multiplicity, node.multiplicity);
  for (double& capacity : host.capacity) capacity *= data.loader_nodes.count / host.multiplicity;
  spec.hosts.push_back(host);
  for (const auto& consumer : site.consumers) spec.consumers.emplace_back(consumer.size(), 0U);
  return spec;
}
}  // namespace stepcast
