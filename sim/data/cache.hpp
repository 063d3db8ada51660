#pragma once
#include "sim/scenario/data_spec.hpp"

namespace stepcast {
/// Share of the bytes that a node finds in its cache during the scenario's epoch. 0 in the first.
/// Shape : N nodes; each reads 1/N of the data set (D bytes) in an epoch, in random order, no
///         sample twice; its cache holds C bytes.
/// Model : fixed sharding asks the same question of one node whose data set is D/N. k = C/D, a =
///         share of the data set the node has read in earlier epochs, 1 - (1 - 1/N)^(epoch - 1).
///         pinned: min(k, a), the cache fills once and is never replaced.
///         lru: when x of the data set was read in this epoch, as much of the cache holds samples
///         that are not asked for again, and older ones are as dense among the rest as
///         min(a, (k - x) / (1 - x)); averaged over x from 0 to 1/N. For N = 1 that is
///         k + (1 - k) ln(1 - k), the chance that two uniform places of a sample in consecutive
///         random orders are less than C distinct bytes apart.
/// Source: derived here; that an LRU page cache thrashes under reshuffling while a pinned one does
///         not is measured in Mohan et al., "Analyzing and Mitigating Data Stalls in DNN
///         Training", VLDB 2021, section 4.
double cache_hit_share(const DataSpec& data, int nodes);
}  // namespace stepcast
