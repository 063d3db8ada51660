#pragma once
#include <vector>

#include "sim/graph/stage_context.hpp"

namespace stepcast {
/// Which server holds how much of every gradient bucket. Tensors are cut into keys (or dealt whole,
/// round-robin) and each key goes to one server.
struct ServerShares {
  struct Part {
    int server = 0;
    double push_bytes = 0, pull_bytes = 0, summed_bytes = 0;
  };
  std::vector<std::vector<Part>> by_exchange;  // by server, servers without a part left out
  std::vector<double> stored_bytes;            // by server
};
/// `payloads`: one rank's encoded bytes of every bucket. `averages`: whole parameters travel,
/// nothing is compressed. `parts`: tensor-parallel ranks, each with its own part of every bucket.
ServerShares deal_to_servers(const StageContext& context, const std::vector<double>& payloads,
                             bool averages, int parts);
}  // namespace stepcast
