#include "runtime/model/synthetic_data.hpp"

#include "sim/core/random.hpp"

namespace stepcast::runtime {

void synthetic_tokens(std::uint64_t seed, std::int64_t step, std::int64_t sample,
                      std::int64_t vocabulary, std::span<std::int32_t> ids,
                      std::span<std::int32_t> targets) {
  const auto v = static_cast<std::uint64_t>(vocabulary);
  const std::uint64_t key = mixed_bits(mixed_bits(seed, static_cast<std::uint64_t>(step)),
                                       static_cast<std::uint64_t>(sample));
  std::uint64_t token = mixed_bits(key) % v;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<std::int32_t>(token);
    const std::uint64_t bits = mixed_bits(key, i + 1);
    constexpr double kFollows = 0.9;
    token = uniform_from_bits(bits) < kFollows ? mixed_bits(seed ^ 0x70a17eULL, token) % v
                                               : mixed_bits(bits) % v;
    targets[i] = static_cast<std::int32_t>(token);
  }
}
}  // namespace stepcast::runtime
