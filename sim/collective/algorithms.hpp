#pragma once
#include <optional>
#include <vector>

#include "sim/collective/collective_model.hpp"

/// The multi-node algorithms, one .cpp each. Each gives what it costs (terms) and how long NCCL's
/// tuner would believe it takes, for every wire protocol it has.
///
/// To add one: write its .cpp with a function of this shape, list it in `candidates`
/// (collective_model.cpp) and in Algorithm, and test its bytes and its closed form in
/// tests/sim/collective.
namespace stepcast {

struct Setting {
  const CollectiveProfile& profile;
  const NodeSpec& node;
  const FabricSpec& fabric;
  FabricFit fit;
  BytesPerSecond
      share;  // what the group may expect of a node's port: NICs in proportion to its ranks there
};
struct Request {
  Collective collective = Collective::all_reduce;
  double buffer = 0;
  GroupShape shape;
};
struct Candidate {
  CollectiveTerms terms;
  double believed_s = 0;  // the tuner's figure, which decides
};

std::vector<Candidate> ring_candidates(const Setting& setting, const Request& request);
std::vector<Candidate> tree_candidates(const Setting& setting, const Request& request);
std::vector<Candidate> nvls_candidates(const Setting& setting, const Request& request);
std::vector<Candidate> sharp_candidates(const Setting& setting, const Request& request);
std::vector<Candidate> hierarchical_candidates(const Setting& setting, const Request& request);
CollectiveTerms all_to_all_terms(const Setting& setting, const Request& request);
CollectiveTerms send_recv_terms(const Setting& setting, const Request& request);

/// Serialisation on the scale-up links when each rank of a node sends `wire` bytes to its neighbour
/// there.
Seconds intra_ring_time(const Setting& setting, int ranks_per_node, double wire);
/// Longer paths than the fitted ones (one leaf switch) add their switches to every step.
Seconds extra_hops(const Setting& setting, const Request& request);
/// Payload over what the fabric makes of it: large-size efficiency and the ramp of chunked
/// transfers.
double inflated(const FabricFit& fit, double payload, double bandwidth_share, bool is_chunked);

/// Torus: a ring is split over the 2 x (dimensions it spans) directions, so each carries this part.
double torus_split(const FabricSpec& fabric, int nodes);
}  // namespace stepcast
