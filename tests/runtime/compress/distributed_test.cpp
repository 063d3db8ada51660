#include <cmath>
#include <thread>

#include "runtime/compress/host_device.hpp"
#include "runtime/compress/local_group.hpp"
#include "sim/core/random.hpp"
#include "tests/runtime/compress/thread_group.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::runtime;

TEST_CASE("ranks over a communicator get what the same ranks in one process get", "[compress]") {
  const int ranks = 3, steps = 5;
  const std::int64_t n = 1000;
  const auto gradient_of = [&](int rank, int step) {
    std::vector<float> gradient(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < gradient.size(); ++i)
      gradient[i] = static_cast<float>(
          normal_from_bits(mixed_bits(static_cast<std::uint64_t>(rank * 100 + step), i)));
    return gradient;
  };
  for (const std::string& scheme : compressor_names()) {
    const CompressorChoice choice{.scheme = scheme, .ratio = 0.05};
    std::vector<std::vector<float>> results(ranks);
    ThreadGroup group(ranks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        const auto device = new_host_device();
        const auto stream = device->new_stream("comm");
        ThreadGroup::Member member(group, rank);
        const auto compressor = new_compressor(choice, *device, n, ranks);
        for (int step = 0; step < steps; ++step) {
          auto gradient = gradient_of(rank, step);
          reduce_compressed(*compressor, *stream, View{gradient.data()}, member);
          results[static_cast<std::size_t>(rank)] = gradient;
        }
      });
    for (std::thread& thread : threads) thread.join();

    LocalGroup local(choice, ranks, n);
    std::vector<std::vector<float>> expected;
    for (int step = 0; step < steps; ++step) {
      expected.clear();
      for (int rank = 0; rank < ranks; ++rank) expected.push_back(gradient_of(rank, step));
      local.reduce(expected);
    }
    // fp16 and bf16 sums are rounded per addition in one, at the end in the other: one unit of the
    // last place of a sum.
    const double tolerance = scheme == "bf16" ? 0x1p-6 : scheme == "fp16" ? 0x1p-9 : 0.0;
    for (const auto& result : results)
      for (std::size_t i = 0; i < result.size(); ++i) {
        INFO(scheme << " element " << i);
        REQUIRE(std::fabs(result[i] - expected[0][i]) <=
                tolerance * std::fmax(3.0, std::fabs(expected[0][i])));
      }
  }
}
