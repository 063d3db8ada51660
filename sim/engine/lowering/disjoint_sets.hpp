#pragma once
#include <cstddef>
#include <numeric>
#include <vector>

namespace stepcast {
/// Union-find with path halving; the root of a set is its smallest member.
class DisjointSets {
 public:
  explicit DisjointSets(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t root(std::size_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void join(std::size_t a, std::size_t b) {
    a = root(a);
    b = root(b);
    parent_[a < b ? b : a] = a < b ? a : b;
  }

 private:
  std::vector<std::size_t> parent_;
};
}  // namespace stepcast
