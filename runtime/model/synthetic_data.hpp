#pragma once
#include <cstdint>
#include <span>

namespace stepcast::runtime {
/// Text that can be learnt: each token is followed by a fixed partner nine times out of ten, else
/// by any. Sample `sample` of step `step` is the same on whatever rank it is drawn. ids and targets
/// have `length` entries, targets[i] = the token after ids[i]. The best reachable loss is about 0.1
/// ln(vocab) + 0.325 nats.
void synthetic_tokens(std::uint64_t seed, std::int64_t step, std::int64_t sample,
                      std::int64_t vocabulary, std::span<std::int32_t> ids,
                      std::span<std::int32_t> targets);
}  // namespace stepcast::runtime
