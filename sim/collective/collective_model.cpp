#include "sim/collective/collective_model.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/collective/algorithms.hpp"
#include "sim/collective/single_node_curve.hpp"

namespace stepcast {
namespace {
/// Sizes that a one-node curve was not fitted on: median error under 5 %, one in ten beyond
/// (tests/fidelity/collectives).
constexpr double kCurveSigma = 0.06;
/// Transports and links of other kinds than measured: between half and double the forecast at 90 %.
constexpr double kUnmeasuredSigma = 0.4;
/// NICs of one scale-up domain that rings and trees reach: all of an 8-GPU node's, 8 of an NVL72
/// rack's 72. GB200 racks with 400 Gb/s per GPU: 811 GB/s of bus bandwidth over two (a tree of two
/// sends S), 406 over twenty (2 S), coreweave/nccl-tests@0120901a.
constexpr double kRailsOfChains = 8;
constexpr std::int64_t kSmall_B = 1 << 20;  // where a fabric's two sigmas part

FabricFit named(std::string transport, double base_us, double ring_us, double tree_us,
                double simple_us, double efficiency, double half_B, double all_to_all, double pair,
                bool ll128, std::string source) {
  FabricFit fit;
  fit.transport = std::move(transport);
  fit.base_latency = Seconds(base_us * 1e-6);
  fit.ring_step_latency = Seconds(ring_us * 1e-6);
  fit.tree_step_latency = Seconds(tree_us * 1e-6);
  fit.simple_step_latency = Seconds(simple_us * 1e-6);
  fit.large_efficiency = efficiency;
  fit.half_efficiency_size = Bytes(static_cast<std::int64_t>(half_B));
  fit.all_to_all_efficiency = all_to_all;
  fit.pair_efficiency = pair;
  fit.ll128 = ll128;
  fit.source = std::move(source);
  return fit;
}
/// Kernel TCP: copies through host memory and socket threads bound it, whatever the port's rate.
/// Sweeps of 8 and 32 A100 over two Slingshot ports per node with NCCL's defaults
/// (argonne-lcf/alcf-nccl-tests@385be336, environment 1 of Polaris and Sirius): 8.4 GB/s per node
/// is the median of large all-reduces (3.4 to 9.5), so 4.2 GB/s per port; small all-gathers take
/// 57 us over two nodes and 243 us over eight, small all-reduces 46 and 123 us; at 1 and 4 MiB two
/// nodes take 0.35 and 0.9 ms longer than that rate explains, eight at 4 and 16 MiB 4.6 and 2 ms.
constexpr double kTcpNic_Bps = 4.2e9;
constexpr double kTcpEfficiency = 0.8;  // of slow ports, assumed
constexpr double kTcpBase_us = 10, kTcpRing_us = 30, kTcpTree_us = 17, kTcpSimple_us = 200;
/// For a transport that the profile has no fit of: sockets as above, else the latencies that NCCL's
/// tuner assumes for any network and 0.9 of line rate. The answer is flagged as extrapolated.
FabricFit assumed_fit(const std::string& transport, BytesPerSecond nic_rate) {
  const std::string source =
      "NVIDIA/nccl@01afd20 src/graph/tuning.cc latencies; efficiency assumed";
  if (transport == "tcp")
    return named(transport, kTcpBase_us, kTcpRing_us, kTcpTree_us, kTcpSimple_us,
                 std::min(kTcpEfficiency, kTcpNic_Bps / nic_rate.value), 1e6,
                 std::min(0.5, kTcpNic_Bps / nic_rate.value),
                 std::min(0.5, kTcpNic_Bps / nic_rate.value), false,
                 "argonne-lcf/alcf-nccl-tests@385be336, environments 1 and 2 (sockets)");
  if (transport == "ici")
    return named(transport, 5, 1.0, 1.0, 1.0, 0.9, 0, 0.9, 0.9, true,
                 "TPU links are driven by the chip: 1 us per hop assumed");
  // GPUDirect-TCPX copies through host threads: latencies between RDMA and kernel TCP assumed.
  if (transport == "tcpx")
    return named(transport, 30, 10, 20, 50, 0.85, 1e6, 0.7, 0.7, false, source);
  // No collective run on Omni-Path is public; whole steps are: 0.14 of line rate for all traffic,
  // from a coarse grid over BLOOM's 49 layouts, whose halves by hash agree on it (4.8 and 3.9 %
  // mean error). ZeRO's reductions of 2022, one call per owner, are in it.
  if (transport == "omnipath")
    return named(transport, 10, 2.7, 5.0, 14, 0.14, 1e6, 0.14, 0.14, true,
                 "fitted to steps, bigscience@9e64edec train/tr11-176B-ml/chronicles-prequel.md");
  return named(transport, 10, 2.7, 5.0, 14, 0.9, 1e6, 0.8, 0.8, true, source);
}
/// The fit of a transport with its software, else of the transport; null where neither is there.
const FabricFit* fit_for(const CollectiveProfile& profile, const std::string& transport) {
  const auto named = [&](const std::string& name) {
    const auto at = std::find_if(profile.fabrics.begin(), profile.fabrics.end(),
                                 [&](const FabricFit& fit) { return fit.transport == name; });
    return at == profile.fabrics.end() ? nullptr : &*at;
  };
  const FabricFit* exact = named(transport);
  return exact != nullptr ? exact : named(transport.substr(0, transport.find('-')));
}
/// How many times less than its port a node of a torus gets: a ring edge uses one of its 2 x
/// dimensions links; all-to-all uses all of them, but each byte crosses k/4 links of every
/// dimension of size k on average.
double torus_transit(const FabricSpec& fabric, CollectiveTerms::Pattern pattern) {
  if (pattern != CollectiveTerms::Pattern::all_pairs)
    return 2.0 * static_cast<double>(std::max<std::size_t>(1, fabric.torus_shape.size()));
  double hops = 0;
  for (const int size : fabric.torus_shape) hops += size / 4.0;
  return std::max(1.0, hops);
}
}  // namespace

double bus_factor(Collective collective, int ranks) {
  return ranks <= 1 ? 1 : wire_share(collective, ranks);
}

CollectiveModel::CollectiveModel(const CollectiveProfile& profile, const NodeSpec& node,
                                 const FabricSpec& fabric, Algorithm forced)
    : profile_(profile), node_(node), fabric_(fabric), forced_(forced) {}

CollectiveTerms CollectiveModel::terms(Collective collective, Bytes buffer,
                                       const GroupShape& shape) const {
  CollectiveTerms none;
  none.pattern = CollectiveTerms::Pattern::none;
  if (shape.ranks <= 1 || buffer.value <= 0) return none;

  if (shape.nodes <= 1) {
    const bool is_ring_forced = collective == Collective::all_reduce &&
                                (forced_ == Algorithm::ring || forced_ == Algorithm::tree);
    const SingleNodeTime time =
        is_ring_forced ? ring_all_reduce_time(profile_, node_, buffer, shape.ranks)
                       : single_node_time(profile_, node_, collective, buffer, shape.ranks);
    none.algorithm = collective == Collective::all_to_all || collective == Collective::send_recv
                         ? Algorithm::direct
                     : collective == Collective::all_reduce && node_.in_switch_reduction &&
                             shape.ranks > 4 && !is_ring_forced
                         ? Algorithm::nvls
                         : Algorithm::ring;
    none.startup = time.startup;
    none.intra = time.total - time.startup;
    none.relative_sigma = time.is_extrapolated ? kUnmeasuredSigma : kCurveSigma;
    none.is_extrapolated = time.is_extrapolated;
    none.nearest_measured = time.nearest_measured;
    return none;
  }

  const FabricFit* fitted = fit_for(profile_, fabric_.transport);
  const bool is_fitted = fitted != nullptr;
  const BytesPerSecond port = node_.nic_bandwidth * static_cast<double>(node_.nics);
  BytesPerSecond share =
      port * std::min(1.0, static_cast<double>(shape.ranks_per_node) / std::max(1, node_.gpus));
  if (fabric_.kind == FabricKind::torus)
    share = std::min(share, port / torus_transit(fabric_, CollectiveTerms::Pattern::ring));
  // All-to-all and pairs use every NIC; what NCCL builds as rings and trees over a rack does not.
  const bool is_chained = collective != Collective::all_to_all &&
                          collective != Collective::send_recv && fabric_.kind != FabricKind::torus;
  const double idle_nics =
      is_chained ? std::max(1.0, share / (node_.nic_bandwidth * kRailsOfChains)) : 1.0;
  const Setting setting{profile_, node_, fabric_,
                        is_fitted ? *fitted : assumed_fit(fabric_.transport, node_.nic_bandwidth),
                        share / idle_nics};
  const Request request{collective, static_cast<double>(buffer.value), shape};

  CollectiveTerms chosen;
  if (collective == Collective::all_to_all) {
    chosen = all_to_all_terms(setting, request);
  } else if (collective == Collective::send_recv) {
    chosen = send_recv_terms(setting, request);
  } else {
    chosen = best_of(setting, request).terms;
    chosen.edge_bytes *= idle_nics;
  }
  chosen.relative_sigma = !is_fitted                ? kUnmeasuredSigma
                          : buffer.value < kSmall_B ? setting.fit.small_sigma
                                                    : setting.fit.large_sigma;
  chosen.is_extrapolated = !is_fitted;
  if (!is_fitted) chosen.nearest_measured = fmt::format("nothing on {}", fabric_.transport);
  return chosen;
}

Candidate CollectiveModel::best_of(const Setting& setting, const Request& request) const {
  std::vector<Candidate> all;
  const auto append = [&](Algorithm algorithm,
                          std::vector<Candidate> (*candidates)(const Setting&, const Request&)) {
    const bool is_default = forced_ == Algorithm::automatic && algorithm != Algorithm::hierarchical;
    if (!is_default && forced_ != algorithm) return;
    for (Candidate& candidate : candidates(setting, request)) all.push_back(std::move(candidate));
  };
  append(Algorithm::ring, ring_candidates);
  append(Algorithm::tree, tree_candidates);
  append(Algorithm::nvls, nvls_candidates);
  append(Algorithm::sharp, sharp_candidates);
  append(Algorithm::hierarchical, hierarchical_candidates);
  // An algorithm that does not know this collective leaves it to the ring, as NCCL does.
  if (all.empty()) all = ring_candidates(setting, request);
  return *std::min_element(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.believed_s < b.believed_s;
  });
}

Seconds CollectiveModel::uncontended_time(Collective collective, Bytes buffer,
                                          const GroupShape& shape,
                                          BytesPerSecond port_share) const {
  const CollectiveTerms cost = terms(collective, buffer, shape);
  if (cost.pattern == CollectiveTerms::Pattern::none) return cost.startup + cost.intra;
  BytesPerSecond rate = port_share;
  const BytesPerSecond port = node_.nic_bandwidth * static_cast<double>(node_.nics);
  if (cost.pattern ==
      CollectiveTerms::Pattern::pair)  // one GPU drives the NIC beside it, or its part of several
    rate = std::min(
        rate, std::max(node_.nic_bandwidth, port / static_cast<double>(std::max(1, node_.gpus))));
  if (fabric_.kind == FabricKind::torus)
    rate = std::min(rate, port / torus_transit(fabric_, cost.pattern));
  return cost.startup + std::max(cost.intra, Seconds(cost.edge_bytes / rate.value));
}
}  // namespace stepcast
