#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/cluster/topology.hpp"
#include "sim/collective/collective_model.hpp"
#include "sim/graph/step_graph.hpp"
#include "sim/straggler/disturbance.hpp"
#include "sim/timeline/timeline.hpp"

/// A step with seconds, links and workers: what the executor runs. Made by `lower`, free of models
/// and profiles.
namespace stepcast {

/// One op inside a segment, for accounting and for the trace.
struct Piece {
  NameId name = 0;
  Category category = Category::compute;
  float seconds = 0, host_seconds = 0;
  bool scales = true;
  std::int32_t transfer = -1;  // of the program: a collective inside of the worker; -1 = none
};

/// In-order work on one lane. The host thread issues it; the GPU runs it:
///   finish = max(gpu_start + f * scaled + fixed, max over bounds (host_start + issued + f *
///   scaled_left + fixed_left))
/// with f the rank's slowdown. That is the exact max-plus transfer of a chain of kernels whose j-th
/// launch is issued at host_start + issued_j: `bounds` keeps the undominated ones.
struct Segment {
  std::vector<Piece> pieces;
  double scaled = 0;  // seconds that a slow rank stretches (compute)
  double fixed = 0;   // seconds it does not (intra-node collectives of its lockstep group)
  double host = 0;    // host issue seconds of the whole segment
  struct Bound {
    double issued, scaled_left, fixed_left;
  };
  std::vector<Bound> bounds;
  Breakdown by_category{};  // f = 1, gpu-bound
};

/// A collective or message as timed by the collective model; contention acts on edge_bytes.
struct Transfer {
  CollectiveTerms terms;
  GroupKind group = GroupKind::dp;
  double payload_bytes = 0;                        // S
  Collective collective = Collective::all_reduce;  // what the terms are of; a message's is unused
  /// That take part, folded replicas included; 0 where a part of it is hidden under compute: its
  /// bytes over the time of the rest would be no bandwidth.
  int ranks = 2;
};

/// In a lane order is issue order; an op starts when its lane is free and its dependencies are
/// complete.
struct Dependency {
  Lane lane;
  std::uint32_t position;
};  // complete when more than `position` ops of that lane are done
struct ProgramOp {
  GraphOp::Kind kind = GraphOp::Kind::work;
  Lane lane = Lane::compute;
  Category category = Category::compute;
  NameId name = 0;
  std::uint32_t index = 0;  // work: segment; collective, send: transfer
  std::int32_t peer_stage = -1;
  std::uint32_t tag = 0;
  std::uint32_t first_dependency = 0, dependency_count = 0;
  std::int32_t micro_batch = -1, chunk = 0;
  bool host_waits =
      false;  // work: the host issues nothing of it before its dependencies are complete
};
struct Program {
  std::vector<Segment> segments;
  std::vector<Transfer> transfers;
  std::array<std::vector<ProgramOp>, kLanes> lanes;
  std::vector<Dependency> dependencies;
};

/// A lockstep group of ranks simulated as one: tensor/context/expert peers of one replica of one
/// stage. Folding makes one worker stand for `multiplicity` equal replicas.
struct Worker {
  std::uint32_t program = 0;
  int stage = 0, replica = 0;
  int first_rank = 0, ranks = 1;  // for tracks and names
  int node = 0;                   // physical node of its first rank
  int multiplicity = 1;
  double slowdown = 1;  // constant compute factor of its slowest rank
  double jitter_sigma =
      0;  // lognormal, drawn per (rank, work op); the slowest of `jitter_ranks` counts
  int jitter_ranks = 1;
  double pause = 0;          // seconds before its first compute op
  double data_wait = 0;      // seconds for which its batch is not there yet, before the pause
  std::int32_t loader = -1;  // consumer of ExecuteOptions::supply that its load ops take from
  std::int32_t disturbance =
      -1;  // index into Job::disturbances: slowness that changes with the moment; -1 = none
  double host_lead = 0;  // seconds by which the host thread is ahead when the step begins
  std::array<std::int32_t, kGroupKinds> group{};  // index into Job::groups, -1 = none
};

/// One inter-node edge of a group: the links it crosses, and how many parallel sibling edges are
/// merged into it.
struct Edge {
  std::vector<LinkId> route;
  double weight = 1;
};
struct Group {
  GroupKind kind = GroupKind::dp;
  std::vector<std::uint32_t> workers;  // who must arrive; multiplicities are theirs
  std::vector<Edge> edges;             // empty: inside one node
};
/// Route of a message from worker to peer stage's worker of the same replica, both directions of
/// the pipeline.
struct Channel {
  std::uint32_t from = 0, to = 0;
  std::vector<Edge> edges;
  Seconds latency;
};

struct Job {
  NameTable names;
  std::vector<Program> programs;
  std::vector<Worker> workers;
  std::vector<Group> groups;
  std::vector<Channel> channels;  // sorted by (from, to)
  std::vector<LinkSpec> links;
  std::vector<LinkEvent> link_events;
  std::vector<std::vector<LinkId>> node_ports;  // links that a LinkEvent of that node scales
  double compute_slowdown_in_overlap =
      1;  // factor on compute while a collective of this worker is on the wire
  double collective_slowdown_in_overlap =
      1;  // factor on gradients and gathered parameters inside a node while a member computes
  double compute_slowdown_beside_codec =
      1;                   // the same while its compressor decodes on another stream
  std::uint64_t seed = 1;  // of this step
  std::vector<Disturbance> disturbances;
  std::uint64_t run_seed =
      1;  // of the run; disturbances tell its steps apart by `step` and `clock_s`
  int step = 0;
  double clock_s = 0;  // when the step starts, seconds since the run began
  bool is_folded = false;
};
}  // namespace stepcast
