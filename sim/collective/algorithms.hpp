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
/// What a ring adds to the time that its edges are busy with `edge_bytes`.
/// Model: chunks follow each other round the ring, so the latencies of a whole `lap` of `steps`
///        steps pass while the edges send other chunks: T = max(lap, busy + one step).
/// Shown by sweeps of 8 nodes: 8 to 32 MiB of all-gather take the same 1.3 ms, a lap of seven 187
/// us steps, and 64 MiB take 1.9 ms, of which 1.8 are bytes (argonne-lcf/alcf-nccl-tests@385be336,
/// NCCL 2.21).
Seconds pipelined_start(const Setting& setting, Seconds lap, double steps, double edge_bytes);
/// Longer paths than the fitted ones (one leaf switch) add their switches to every step.
Seconds extra_hops(const Setting& setting, const Request& request);
/// Payload over what the fabric makes of it: large-size efficiency and the ramp of chunked
/// transfers.
double inflated(const FabricFit& fit, double payload, double bandwidth_share, bool is_chunked);

/// Torus: a ring is split over the 2 x (dimensions it spans) directions, so each carries this part.
double torus_split(const FabricSpec& fabric, int nodes);
}  // namespace stepcast
