#pragma once
#include <cstdint>
#include <span>

/// Data that can be learnt. Sample `sample` of step `step` is the same on whatever rank it is
/// drawn.
namespace stepcast::runtime {
/// Each token is followed by a fixed partner nine times out of ten, else by any. ids and targets
/// have `length` entries, targets[i] = the token after ids[i]. The best reachable loss is about 0.1
/// ln(vocab) + 0.325 nats.
void synthetic_tokens(std::uint64_t seed, std::int64_t step, std::int64_t sample,
                      std::int64_t vocabulary, std::span<std::int32_t> ids,
                      std::span<std::int32_t> targets);
/// pixels (size, size, 3) of an image of the class that is returned: its colour and a plane wave of
/// its direction, under uniform noise as strong as either.
std::int32_t synthetic_image(std::uint64_t seed, std::int64_t step, std::int64_t sample,
                             std::int64_t size, std::int64_t classes, std::span<float> pixels);
/// Dense features, normal; bags (tables, pooling) of indices below `rows`, low ones more often (as
/// the fourth power of a uniform number: a tenth of a table answers 56 % of lookups). Returns 1 or
/// -1: the sign of the sum of hidden votes, one of each (table, index) and a weight of each dense
/// feature.
float synthetic_click(std::uint64_t seed, std::int64_t step, std::int64_t sample, std::int64_t rows,
                      std::int64_t pooling, std::span<float> dense, std::span<std::int32_t> bags);
}  // namespace stepcast::runtime
