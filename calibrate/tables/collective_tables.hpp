#pragma once
#include <string>

#include "calibrate/tables/collective_samples.hpp"

namespace stepcast {
/// The collective half of a bundled profile, fitted to the tables under `data_root`: smooth curves
/// per (collective, group size) inside a node, and what the networks do between nodes. An
/// accelerator without measurements gets the fabrics only. Throws InputError when a table is
/// unreadable.
CollectiveProfile fit_collectives(const std::string& gpu, const std::string& data_root);

/// The one-node part with some samples left aside (hold-out tests).
CollectiveProfile fit_one_node_collectives(const std::string& gpu, const std::string& data_root,
                                           const SampleFilter& filter);
}  // namespace stepcast
