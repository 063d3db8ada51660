#include "calibrate/tables/fabric_fits.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "calibrate/fit/pattern_search.hpp"
#include "calibrate/tables/collective_tables.hpp"
#include "sim/core/robust_stats.hpp"

namespace stepcast {
namespace {
/// What is searched, in this order; microseconds, shares, bytes.
enum Parameter : std::size_t {
  base_us,
  ring_us,
  tree_us,
  simple_us,
  large,
  half_B,
  all_to_all,
  pair,
  ll,
  ll_half_B,
  kParameters
};

FabricFit fit_of(const std::string& transport, const std::vector<double>& p, bool ll128,
                 bool two_node_tree) {
  FabricFit fit;
  fit.transport = transport;
  fit.base_latency = Seconds(p[base_us] * 1e-6);
  fit.ring_step_latency = Seconds(p[ring_us] * 1e-6);
  fit.tree_step_latency = Seconds(p[tree_us] * 1e-6);
  // Simple crosses the same wires, so it is never faster than a low-latency step.
  fit.simple_step_latency = Seconds(std::max({p[simple_us], p[ring_us], p[tree_us]}) * 1e-6);
  fit.large_efficiency = p[large];
  fit.half_efficiency_size = Bytes(std::llround(p[half_B]));
  fit.all_to_all_efficiency = p[all_to_all];
  fit.pair_efficiency = p[pair];
  fit.ll_efficiency = p[ll];
  fit.ll_half_loss = p[ll_half_B];
  fit.ll128 = ll128;
  fit.two_node_tree = two_node_tree;
  return fit;
}

/// The model of one run under a fit, whatever software the run names.
CollectiveModel model_of(const MultiNodeRun& run, CollectiveProfile& profile,
                         const FabricFit& fit) {
  profile.fabrics = {fit};
  FabricSpec fabric = fabric_of(run);
  fabric.transport = fit.transport;
  return CollectiveModel(profile, run.node, fabric);
}

/// Mean |log(predicted / measured)|; each run counts alike, whatever its number of sizes.
double loss_of(const std::vector<MultiNodeRun>& runs,
               std::map<std::string, CollectiveProfile>& profiles, const FabricFit& fit) {
  double sum = 0;
  for (const MultiNodeRun& run : runs) {
    const CollectiveModel model = model_of(run, profiles.at(run.gpu), fit);
    const BytesPerSecond port = run.node.nic_bandwidth * static_cast<double>(run.node.nics);
    double run_sum = 0, weights = 0;
    for (const auto& [bytes, seconds] : run.points) {
      // Training sends its gradients and activations from about 1 MiB up.
      const double weight = bytes >= 1048576 ? 3 : 1;
      run_sum +=
          weight *
          std::fabs(std::log(
              model.uncontended_time(run.collective, Bytes(std::llround(bytes)), run.shape, port)
                  .value /
              seconds));
      weights += weight;
    }
    sum += run_sum / weights;
  }
  return sum / static_cast<double>(runs.size());
}

/// 1-sigma of log time under and from 1 MiB: what holds nine in ten of the fit's own residuals, as
/// a normal's 1.645 sigma would, and a quarter more for runs that it has not seen. 0 where there
/// are none.
std::pair<double, double> spread_of(const std::vector<MultiNodeRun>& runs,
                                    std::map<std::string, CollectiveProfile>& profiles,
                                    const FabricFit& fit) {
  constexpr double kUnseen = 1.25, kNormal90 = 1.645;
  std::vector<double> small, large;
  for (const MultiNodeRun& run : runs) {
    const CollectiveModel model = model_of(run, profiles.at(run.gpu), fit);
    const BytesPerSecond port = run.node.nic_bandwidth * static_cast<double>(run.node.nics);
    for (const auto& [bytes, seconds] : run.points)
      (bytes < 1048576 ? small : large)
          .push_back(std::fabs(std::log(
              model.uncontended_time(run.collective, Bytes(std::llround(bytes)), run.shape, port)
                  .value /
              seconds)));
  }
  const auto sigma = [&](const std::vector<double>& errors) {
    return errors.empty() ? 0 : std::max(0.02, kUnseen * quantile(errors, 0.9) / kNormal90);
  };
  return {sigma(small), sigma(large)};
}

/// Profiles of the GPUs that the runs name, with their curves inside a node.
std::map<std::string, CollectiveProfile> profiles_of(const std::vector<MultiNodeRun>& runs,
                                                     const std::string& data_root) {
  std::map<std::string, CollectiveProfile> profiles;
  for (const MultiNodeRun& run : runs)
    if (!profiles.contains(run.gpu))
      profiles[run.gpu] = fit_one_node_collectives(run.gpu, data_root, nullptr);
  return profiles;
}

/// Starts: the latencies that NCCL's tuner assumes of any network (2.7, 5 and 14 us).
std::vector<SearchedParameter> ranges_of_any_network() {
  std::vector<SearchedParameter> ranges(kParameters);
  ranges[base_us] = {10, 1, 300};
  ranges[ring_us] = {2.7, 0.3, 300};
  ranges[tree_us] = {5, 0.3, 300};
  ranges[simple_us] = {14, 2, 1000};
  ranges[large] = {0.9, 0.1, 0.99};
  ranges[half_B] = {5e5, 1e3, 5e7};
  ranges[all_to_all] = {0.8, 0.1, 0.99};
  ranges[pair] = {0.8, 0.1, 0.99};
  ranges[ll] = {0.5, 0.02, 1};
  ranges[ll_half_B] = {3e7, 1e5, 1e10};
  return ranges;
}

/// What may be used: LL128 or not, trees of two nodes at large sizes or not. NCCL's own tuner never
/// takes the latter (it counts a tree as 2 S); EFA's plug-in brings a tuner that does.
std::vector<std::pair<bool, bool>> algorithms_of(const std::string& family) {
  if (family == "efa") return {{true, false}, {false, false}, {true, true}, {false, true}};
  return {{true, false}, {false, false}};
}

/// A fit and where its parameters came to lie.
struct Fitted {
  FabricFit fit;
  std::vector<double> parameters;
};

/// `ranges` start at what is believed of the network; a parameter that no run speaks of stays
/// there. `is_first`: ring and Simple steps stay in proportion to the tree's instead, which
/// all-reduces of any size reveal.
Fitted fitted(const std::string& transport, const std::vector<MultiNodeRun>& runs,
              const std::string& data_root, const std::vector<SearchedParameter>& ranges,
              bool is_first) {
  std::map<std::string, CollectiveProfile> profiles = profiles_of(runs, data_root);
  // Software seen at one number of nodes cannot tell its steps from its base: it moves away from
  // the transport's only for a clear gain.
  const double weight = is_first ? 5e-4 : 5e-3;
  Fitted best;
  double best_loss = INFINITY;
  for (const auto& [ll128, two_node_tree] : algorithms_of(family_of(transport))) {
    const bool has_ll128 = ll128, has_tree = two_node_tree;  // bindings cannot be captured
    const auto loss = [&](const std::vector<double>& p) {
      const auto off = [&](std::size_t i) { return std::log(p[i] / ranges[i].start); };
      double pull = is_first ? std::fabs(off(ring_us) - off(tree_us)) +
                                   std::fabs(off(simple_us) - std::max(0.0, off(tree_us)))
                             : std::fabs(off(ring_us)) + std::fabs(off(simple_us));
      for (const std::size_t i : {base_us, tree_us, large, half_B, all_to_all, pair, ll, ll_half_B})
        pull += std::fabs(off(i));
      return loss_of(runs, profiles, fit_of(transport, p, has_ll128, has_tree)) + weight * pull;
    };
    const std::vector<double> found = pattern_search(ranges, loss);
    if (loss(found) < best_loss) {
      best_loss = loss(found);
      best = {fit_of(transport, found, has_ll128, has_tree), found};
    }
  }
  const auto [under, from] = spread_of(runs, profiles, best.fit);
  if (under > 0) best.fit.small_sigma = under;
  if (from > 0) best.fit.large_sigma = from;
  std::set<std::string> sources;
  for (const MultiNodeRun& run : runs) sources.insert(run.source);
  best.fit.source = joined({sources.begin(), sources.end()}, "; ");
  return best;
}
}  // namespace

std::vector<FabricFit> fit_fabrics(const std::string& data_root, const RunFilter& filter) {
  std::map<std::string, std::map<std::string, std::vector<MultiNodeRun>>> families;
  for (MultiNodeRun& run : multi_node_runs(data_root)) {
    if (filter)
      std::erase_if(run.points, [&](const auto& point) { return !filter(run, point.first); });
    if (!run.points.empty())
      families[family_of(run.transport)][run.transport].push_back(std::move(run));
  }
  std::vector<FabricFit> fits;
  for (const auto& [family, variants] : families) {
    std::vector<MultiNodeRun> all;
    for (const auto& [name, runs] : variants) all.insert(all.end(), runs.begin(), runs.end());
    const Fitted common = fitted(family, all, data_root, ranges_of_any_network(), true);
    fits.push_back(common.fit);
    std::vector<SearchedParameter> near = ranges_of_any_network();
    for (std::size_t i = 0; i < near.size(); ++i) near[i].start = common.parameters[i];
    for (const auto& [name, runs] : variants)
      if (name != family) fits.push_back(fitted(name, runs, data_root, near, false).fit);
  }
  return fits;
}

std::string family_of(const std::string& transport) {
  return transport.substr(0, transport.find('-'));
}
}  // namespace stepcast
