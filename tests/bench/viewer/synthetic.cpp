#include "tests/bench/viewer/synthetic.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <stdexcept>

#include "sim/core/random.hpp"
#include "sim/timeline/store/store_builder.hpp"

using namespace stepcast;
namespace {
/// A linear congruential generator (Knuth, MMIX constants): fast, and the same everywhere.
struct Noise {
  std::uint64_t state;
  std::uint32_t below(std::uint32_t n) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::uint32_t>((state >> 33) % n);
  }
};
constexpr int kStreams = 4, kSlicesAStep = 40;
}  // namespace

trace::TracePtr synthetic_trace(const SyntheticShape& shape) {
  using trace::SliceCategory;
  trace::StoreBuilder builder;
  builder.add_source({});
  const int ranks = (shape.tracks + kStreams - 1) / kStreams;
  constexpr std::array<const char*, kStreams> streams{"compute", "gradient", "gather", "send"};
  std::vector<std::array<trace::OpId, kSlicesAStep>> ops(kStreams);
  for (int stream = 0; stream < kStreams; ++stream)
    for (int i = 0; i < kSlicesAStep; ++i) {
      const SliceCategory shown =
          stream == 0 ? (i == kSlicesAStep - 1 ? SliceCategory::optimizer : SliceCategory::compute)
          : stream == 3 ? SliceCategory::exposed_pp
                        : SliceCategory::exposed_dp;
      ops[static_cast<std::size_t>(stream)][static_cast<std::size_t>(i)] =
          builder.op(fmt::format("{}_{}",
                                 stream == 0   ? "layer"
                                 : stream == 3 ? "send"
                                               : "all_reduce",
                                 i),
                     "kernel", shown);
    }
  for (int t = 0; t < shape.tracks; ++t) {
    trace::StoreBuilder::TrackSpec spec;
    const int rank = t / kStreams;
    spec.node = fmt::format("node {}", rank / 8), spec.node_sort = rank / 8, spec.rank = rank;
    spec.label = streams[static_cast<std::size_t>(t % kStreams)], spec.sort = t % kStreams,
    spec.kind = trace::TrackKind::device_stream;
    builder.add_track(std::move(spec));
  }
  const std::int64_t a_track = shape.slices / shape.tracks;
  std::int64_t left = shape.slices;
  std::uint64_t offset = 0;
  for (int t = 0; t < shape.tracks; ++t) {
    const int rank = t / kStreams;
    Noise noise{static_cast<std::uint64_t>(rank) * 977 + 5};
    const double factor = shape.speed * (rank % 97 == 13 ? 1.25 : 1.0);
    const std::int64_t count = t + 1 == shape.tracks ? left : a_track;
    left -= count;
    const auto stream = static_cast<std::size_t>(t % kStreams);
    Nanoseconds at = static_cast<Nanoseconds>(stream) * 10'000;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto length = static_cast<Nanoseconds>(
          (stream == 0 ? 100'000 + noise.below(40'000) : 30'000 + noise.below(60'000)) * factor);
      const std::int64_t step = i / kSlicesAStep;
      const Nanoseconds begin = std::max(
          at, static_cast<Nanoseconds>(static_cast<double>(step) * 6'500'000 * shape.speed));
      builder.add_slice(static_cast<std::uint32_t>(t), begin, length,
                        ops[stream][static_cast<std::size_t>(i % kSlicesAStep)], offset += 100);
      at = begin + length + (stream == 0 ? 2'000 : 60'000);
    }
  }
  (void)ranks;
  return builder.build({.mark_overlapped = false});
}

void write_synthetic_json(const std::string& path, std::int64_t events) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) throw std::runtime_error(path + " cannot be written");
  fmt::print(file,
             "{{\"schemaVersion\": 1, \"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": 0, "
             "\"world_size\": 8}},\n\"traceEvents\": [\n");
  Noise noise{7};
  std::int64_t us = 1'682'725'898'236'567;
  for (std::int64_t i = 0; i < events; ++i) {
    us += 3 + noise.below(5);
    const char* separator = i == 0 ? "" : ",\n";
    const auto kind = noise.below(10);
    if (kind < 4)
      fmt::print(file,
                 "{}{{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void "
                 "at::native::vectorized_elementwise_kernel<4, at::native::Functor{}<float> >(int, "
                 "float)\", \"pid\": 0, "
                 "\"tid\": {}, \"ts\": {}.{:03}, \"dur\": {}.{:03}, \"args\": {{\"External id\": "
                 "{}, \"device\": 0, \"context\": 1, \"stream\": 7, \"correlation\": {}, "
                 "\"registers per thread\": 32, \"shared memory\": 0, \"blocks per SM\": 0.5, "
                 "\"grid\": [108, 1, 1], \"block\": [128, 1, 1]}}}}",
                 separator, noise.below(120), 7 + kind, us, noise.below(1000), 2, noise.below(1000),
                 i, i);
    else if (kind < 7)
      fmt::print(
          file,
          "{}{{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::op_{}\", \"pid\": 4037, "
          "\"tid\": 23695, \"ts\": {}.{:03}, \"dur\": {}.{:03}, \"args\": {{\"External id\": {}, "
          "\"Ev Idx\": {}, \"Input Dims\": [[2048, 1024], [1024, 4096], []], \"Input type\": "
          "[\"float\", \"float\", \"Scalar\"], \"Fwd thread id\": 1, \"Sequence number\": {}, "
          "\"Concrete Inputs\": [\"\", \"\", \"1\"]}}}}",
          separator, noise.below(200), us, noise.below(1000), 2, noise.below(1000), i, i, i);
    else
      fmt::print(
          file,
          "{}{{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": "
          "4037, \"tid\": 23695, \"ts\": {}.{:03}, \"dur\": {}.{:03}, \"args\": {{\"External id\": "
          "{}, "
          "\"cbid\": 211, \"correlation\": {}, \"some words to make the arguments as long as "
          "PyTorch writes them with stacks\": \"torch/nn/modules/linear.py(114): forward\"}}}}",
          separator, us, noise.below(1000), 2, noise.below(1000), i, i);
  }
  fmt::print(file, "\n], \"traceName\": \"synthetic\"}}\n");
  std::fclose(file);
}
