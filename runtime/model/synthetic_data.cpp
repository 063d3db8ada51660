#include "runtime/model/synthetic_data.hpp"

#include <array>
#include <cmath>
#include <numbers>

#include "sim/core/random.hpp"

namespace stepcast::runtime {
namespace {
std::uint64_t key_of(std::uint64_t seed, std::int64_t step, std::int64_t sample) {
  return mixed_bits(mixed_bits(seed, static_cast<std::uint64_t>(step)),
                    static_cast<std::uint64_t>(sample));
}
/// Uniform in [-1, 1).
float signed_uniform(std::uint64_t bits) {
  return static_cast<float>(2.0 * uniform_from_bits(bits) - 1.0);
}
}  // namespace

void synthetic_tokens(std::uint64_t seed, std::int64_t step, std::int64_t sample,
                      std::int64_t vocabulary, std::span<std::int32_t> ids,
                      std::span<std::int32_t> targets) {
  const auto v = static_cast<std::uint64_t>(vocabulary);
  const std::uint64_t key = key_of(seed, step, sample);
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

std::int32_t synthetic_image(std::uint64_t seed, std::int64_t step, std::int64_t sample,
                             std::int64_t size, std::int64_t classes, std::span<float> pixels) {
  const std::uint64_t key = key_of(seed, step, sample);
  const auto label =
      static_cast<std::uint64_t>(mixed_bits(key) % static_cast<std::uint64_t>(classes));
  const std::uint64_t look = mixed_bits(seed ^ 0x1a6e5ULL, label);
  std::array<float, 3> colour{}, wave{};
  for (std::size_t c = 0; c < 3; ++c) {
    colour[c] = 0.5f * signed_uniform(mixed_bits(look, c));
    wave[c] = 0.5f * signed_uniform(mixed_bits(look, 3 + c));
  }
  constexpr std::uint64_t kFrequencies = 4;  // periods over the image, 0 to 3 each way
  const double step_x = 2.0 * std::numbers::pi *
                        static_cast<double>(mixed_bits(look, 6) % kFrequencies) /
                        static_cast<double>(size),
               step_y = 2.0 * std::numbers::pi *
                        static_cast<double>(mixed_bits(look, 7) % kFrequencies) /
                        static_cast<double>(size);
  std::size_t at = 0;
  for (std::int64_t y = 0; y < size; ++y)
    for (std::int64_t x = 0; x < size; ++x) {
      const auto phase = static_cast<float>(
          std::cos(step_x * static_cast<double>(x) + step_y * static_cast<double>(y)));
      for (std::size_t c = 0; c < 3; ++c, ++at)
        pixels[at] = colour[c] + wave[c] * phase + 0.5f * signed_uniform(mixed_bits(key + at));
    }
  return static_cast<std::int32_t>(label);
}

float synthetic_click(std::uint64_t seed, std::int64_t step, std::int64_t sample, std::int64_t rows,
                      std::int64_t pooling, std::span<float> dense, std::span<std::int32_t> bags) {
  const std::uint64_t key = key_of(seed, step, sample);
  float votes = 0;
  for (std::size_t i = 0; i < dense.size(); ++i) {
    dense[i] = static_cast<float>(normal_from_bits(mixed_bits(key, i)));
    votes += dense[i] * signed_uniform(mixed_bits(seed ^ 0xde45eULL, i));
  }
  for (std::size_t i = 0; i < bags.size(); ++i) {
    const double u = uniform_from_bits(mixed_bits(key, dense.size() + i));
    const auto index = static_cast<std::int64_t>(static_cast<double>(rows) * u * u * u * u);
    bags[i] = static_cast<std::int32_t>(index);
    const bool is_for =
        (mixed_bits(mixed_bits(seed ^ 0xba65ULL, i / static_cast<std::uint64_t>(pooling)),
                    static_cast<std::uint64_t>(index)) &
         1u) != 0;
    votes += is_for ? 1.0f : -1.0f;
  }
  return votes > 0 ? 1.0f : -1.0f;
}
}  // namespace stepcast::runtime
