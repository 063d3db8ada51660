#include "sim/engine/lowering/server_shares.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/core/assert.hpp"
#include "sim/graph/gradient_buckets.hpp"
#include "sim/graph/gradient_reduce.hpp"

namespace stepcast {
namespace {
/// Distinct rows of a table of `rows` that `tokens` draws touch when the i-th row has probability
/// proportional to 1 / i^skew.
double distinct_rows(std::int64_t rows, std::int64_t tokens, double skew) {
  double norm = 0, distinct = 0;
  for (std::int64_t i = 1; i <= rows; ++i) norm += std::pow(static_cast<double>(i), -skew);
  for (std::int64_t i = 1; i <= rows; ++i) {
    const double p = std::pow(static_cast<double>(i), -skew) / norm;
    distinct += -std::expm1(static_cast<double>(tokens) *
                            std::log1p(-std::min(p, 1 - 1e-15)));  // 1 - (1 - p)^tokens
  }
  return distinct;
}

/// What host memory moves for one element, x86 and most Arm servers.
constexpr double kCacheLine_bytes = 64;

/// Share of the embedding table that one worker's step touches; 1 where nothing is sparse.
double touched_share(const Scenario& s, const ModelWork& work) {
  const bool has_tokens = s.model.kind == ModelKind::transformer || s.model.kind == ModelKind::moe;
  if (!s.sync.server.sparse_embeddings || !has_tokens || work.before.empty()) return 1;
  // A tied table gets a dense gradient from the output layer.
  if (s.model.transformer.tied_embedding) return 1;
  const std::int64_t tokens =
      s.training.global_batch / std::max(1, s.parallel.dp) * s.training.sequence_length;
  return distinct_rows(s.model.transformer.vocab, tokens, s.sync.server.token_skew) /
         static_cast<double>(s.model.transformer.vocab);
}
}  // namespace

ServerShares deal_to_servers(const StageContext& context, const std::vector<double>& payloads,
                             bool averages, int parts) {
  const Scenario& scenario = context.scenario();
  const ServerSpec& spec = scenario.sync.server;
  const auto width = static_cast<double>(context.gradient_element_bytes());
  const bool overlaps = scenario.strategy.overlap_grad_reduce;
  const std::vector<GradientBucket> buckets =
      gradient_buckets(context, context.layers_of(0), BackwardPart::whole,
                       overlaps ? scenario.strategy.bucket_bytes : Bytes(0),
                       overlaps ? scenario.strategy.first_bucket_bytes : Bytes(0));
  STEPCAST_ASSERT(buckets.size() == payloads.size(), "every bucket is one exchange");
  const std::vector<GradientBucket> tensors =
      tensors_of(context, context.layers_of(0), BackwardPart::whole);
  const double touched = touched_share(scenario, context.model());
  const std::size_t embedding = tensors.size() - 1;  // its gradient comes last
  const bool keeps_few = !averages && keeps_a_share(scenario.compression.scheme);

  ServerShares result;
  const auto servers = static_cast<std::size_t>(spec.count);
  result.stored_bytes.assign(servers, 0);
  std::vector<double> traffic(servers, 0);
  const auto emptiest = [&](const std::vector<double>& load) {
    return static_cast<std::size_t>(std::min_element(load.begin(), load.end()) - load.begin());
  };
  std::size_t bucket = 0, dealt = 0;
  double left = buckets.empty() ? 0 : static_cast<double>(buckets[0].elements);
  result.by_exchange.resize(buckets.size());
  std::vector<std::map<int, ServerShares::Part>> by_server(buckets.size());
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const auto elements = static_cast<double>(tensors[t].elements);
    while (bucket + 1 < buckets.size() && left < 0.5)
      left = static_cast<double>(buckets[++bucket].elements);
    left -= elements;
    const double dense = elements * width * parts;
    const double share = t == embedding ? touched : 1;
    // One bucket's payload is spread over its tensors by their size; sparse rows travel with an
    // 8-byte index each.
    const double ratio =
        averages || buckets[bucket].elements == 0
            ? 1
            : payloads[bucket] / (static_cast<double>(buckets[bucket].elements) * width);
    const double row_overhead =
        share < 1 ? 1 + 8 / (width * static_cast<double>(scenario.model.transformer.hidden)) : 1;
    const double push = dense * ratio * share * row_overhead;
    // A server that updates sends parameters, which no gradient compressor makes smaller; one that
    // sums encodes its sum again.
    const double pull = averages || spec.updates ? dense * share * row_overhead : push;
    // Entries kept here and there are added, and updated, a cache line each.
    const double lines = dense / width * share * scenario.compression.ratio * kCacheLine_bytes;
    const double summed = keeps_few ? std::min(lines, dense * share) : dense * share;
    const double keys =
        spec.sharding == Sharding::round_robin
            ? 1
            : std::max(1.0, std::ceil(dense / static_cast<double>(spec.partition.value)));
    for (double k = 0; k < keys; ++k) {
      const std::size_t server = spec.sharding == Sharding::round_robin ? dealt++ % servers
                                 : spec.sharding == Sharding::size ? emptiest(result.stored_bytes)
                                                                   : emptiest(traffic);
      result.stored_bytes[server] += dense / keys;
      traffic[server] += (push + pull) / keys;
      ServerShares::Part& part = by_server[bucket][static_cast<int>(server)];
      part.server = static_cast<int>(server);
      part.push_bytes += push / keys;
      part.pull_bytes += pull / keys;
      part.summed_bytes += summed / keys;
    }
  }
  for (std::size_t b = 0; b < by_server.size(); ++b)
    for (const auto& [server, part] : by_server[b]) result.by_exchange[b].push_back(part);
  return result;
}
}  // namespace stepcast
