#pragma once
#include <cstdint>
#include <set>
#include <string>

/// Whether the files of a Chakra job are all of it.
namespace stepcast::chakra {

/// What the files that were read say about the job's ranks.
struct RanksSeen {
  std::set<int> read;              // one a file
  std::set<int> peers;             // named by sends and receives
  std::int64_t largest_group = 0;  // most ranks that a collective states; 0 = none does
};
/// Ranks that the job must have and no file holds, as "1-3, 7"; "" when none is known to be absent.
/// Gaps between ranks, peers of messages and the stated size of a group tell. Files numbered from
/// 1 are complete as long as nothing names a rank 0 or more ranks than files.
std::string missing_ranks(const RanksSeen& seen);
}  // namespace stepcast::chakra
