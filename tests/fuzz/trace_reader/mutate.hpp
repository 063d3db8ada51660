#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace stepcast::fuzz {
/// Numbers that are the same on every machine (splitmix64, public domain).
struct Noise {
  std::uint64_t state;
  std::uint64_t next() {
    std::uint64_t z = state += 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(next() % n); }
};
/// One to eight changes of one seed: bytes flipped, ranges cut, doubled or moved, words of the
/// format put in, tails of other seeds.
std::string mutated(const std::vector<std::string>& seeds, Noise& noise);
}  // namespace stepcast::fuzz
