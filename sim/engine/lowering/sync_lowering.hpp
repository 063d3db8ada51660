#pragma once
#include "sim/data/loader_site.hpp"
#include "sim/engine/lowering/program_lowering.hpp"
#include "sim/profile/profile.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/sync/sync_job.hpp"

namespace stepcast {
/// What the loop of a run out of lockstep needs, and what is known of it.
struct LoweredSync {
  SyncJob job;
  LoaderSite site;  // of whole steps; empty without data loading
  Doubts doubts;    // of the first worker's step
};

/// Scenario out of lockstep -> workers, servers and links: each replica's step as one block of
/// compute with the exchanges it feeds.
LoweredSync lower_sync(const Scenario& scenario, const StepGraph& graph, const ModelWork& work,
                       const Profile& profile);
}  // namespace stepcast
