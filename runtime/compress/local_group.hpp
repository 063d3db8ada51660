#pragma once
#include <span>
#include <vector>

#include "runtime/compress/compressor.hpp"

namespace stepcast::runtime {

/// What a reduction cost and lost.
struct CompressionResult {
  Bytes sent;        // by one rank, all rounds
  double ratio = 0;  // fp32 bytes over bytes sent
  double error = 0;  // |result - exact sum| / |exact sum|, Euclidean; 0 when both vanish
};

/// All ranks of a group in one process and one thread: for studies of convergence, without a
/// network.
///   LocalGroup group({.scheme = "topk", .ratio = 0.01}, ranks, elements);
///   group.reduce(gradients);   // every step: gradients[rank] in, the approximate sum over ranks
///   out, the same on all
class LocalGroup {
 public:
  LocalGroup(const CompressorChoice&, int ranks, std::int64_t elements);
  ~LocalGroup();
  LocalGroup(const LocalGroup&) = delete;
  LocalGroup& operator=(const LocalGroup&) = delete;
  CompressionResult reduce(std::span<std::vector<float>> gradients);

 private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<Compressor>> members_;
  std::int64_t elements_;
};
}  // namespace stepcast::runtime
