#include "runtime/compress/host_compress_kernels.hpp"
#include "runtime/compress/host_device.hpp"
#include "tests/runtime/kernels/kernel_test.hpp"

using namespace stepcast;
using namespace stepcast::runtime;

namespace {
struct Host {
  std::unique_ptr<Device> device = new_host_device();
  std::unique_ptr<Stream> stream = device->new_stream("host");
  CompressKernels& loops = *device->compress_kernels();
};
std::vector<float> odd_values(std::int64_t n) {  // with zeros, ties, a huge and a tiny one
  auto values = random_values(n, 11);
  for (std::size_t i = 0; i < values.size(); i += 7) values[i] = static_cast<float>(i % 3) - 1.0f;
  values[0] = 3e30f;
  if (n > 2) values[2] = -1e-38f;
  return values;
}
void same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}
}  // namespace

TEST_CASE("block payloads and residuals of device and host are equal bit for bit", "[kernels]") {
  Host host;
  for (const std::int64_t n : {1, 256, 2500})
    for (const BlockFormat format : {BlockFormat::int8, BlockFormat::fp8, BlockFormat::sign})
      under_each_schedule([&] {
        const auto words = static_cast<std::size_t>(blocks_of(n) * words_per_block(format));
        auto x = odd_values(n), host_x = x;
        std::vector<float> payload(2 * words), host_payload(2 * words),
            g(static_cast<std::size_t>(n)), host_g = g;
        launch::encode_blocks(nullptr, format, View{x.data()}, View{payload.data()}, n);
        host.loops.encode_blocks(*host.stream, format, View{host_x.data()},
                                 View{host_payload.data()}, n);
        same_bits(payload, host_payload);
        same_bits(x, host_x);
        std::copy_n(
            payload.begin(), words,
            payload.begin() + static_cast<std::ptrdiff_t>(words));  // a second rank with the same
        launch::decode_blocks(nullptr, format, View{payload.data()}, 2, View{g.data()}, n);
        host.loops.decode_blocks(*host.stream, format, View{payload.data()}, 2, View{host_g.data()},
                                 n);
        same_bits(g, host_g);
      });
}
TEST_CASE("casts of device and host are equal bit for bit", "[kernels]") {
  Host host;
  const std::int64_t n = 1000;
  for (const Precision precision : {Precision::fp16, Precision::bf16}) {
    auto x = odd_values(n), host_x = x;
    std::vector<std::uint16_t> payload(n), host_payload(n);
    launch::encode_cast(nullptr, View{x.data()}, View{payload.data(), precision}, 0.25f, n);
    host.loops.encode_cast(*host.stream, View{host_x.data()}, View{host_payload.data(), precision},
                           0.25f, n);
    REQUIRE(payload == host_payload);
    same_bits(x, host_x);
    std::vector<float> g(n), host_g(n);
    launch::decode_cast(nullptr, View{payload.data(), precision}, View{g.data()}, 4.0f, n);
    host.loops.decode_cast(*host.stream, View{payload.data(), precision}, View{host_g.data()}, 4.0f,
                           n);
    same_bits(g, host_g);
  }
}
TEST_CASE("top-k selects on the device what it selects on the host with ties across chunks",
          "[kernels]") {
  Host host;
  for (const std::int64_t n : {1, 300, 9000})  // 9000: three chunks of 4096
    for (const std::int64_t kept : {std::int64_t{1}, n / 3 + 1, n})
      under_each_schedule([&] {
        auto x = odd_values(n), host_x = x;
        const auto size = static_cast<std::size_t>(2 * kept);
        std::vector<std::uint32_t> payload(2 * size), host_payload(size),
            workspace(static_cast<std::size_t>(launch::top_k_workspace(n) / 4), 0xdeadbeefu);
        launch::encode_top_k(nullptr, View{x.data()}, View{payload.data()}, View{workspace.data()},
                             n, kept);
        host.loops.encode_top_k(*host.stream, View{host_x.data()}, View{host_payload.data()}, {}, n,
                                kept);
        REQUIRE(std::vector<std::uint32_t>(payload.begin(),
                                           payload.begin() + static_cast<std::ptrdiff_t>(size)) ==
                host_payload);
        same_bits(x, host_x);
        std::copy_n(payload.begin(), size, payload.begin() + static_cast<std::ptrdiff_t>(size));
        std::vector<float> g(static_cast<std::size_t>(n)), host_g = g;
        launch::decode_top_k(nullptr, View{payload.data()}, 2, View{g.data()}, n, kept);
        host.loops.decode_top_k(*host.stream, View{payload.data()}, 2, View{host_g.data()}, n,
                                kept);
        same_bits(g, host_g);
      });
}
TEST_CASE("random-k and feedback of device and host are equal bit for bit", "[kernels]") {
  Host host;
  const std::int64_t n = 1003, kept = 77;
  auto x = odd_values(n), host_x = x;
  auto gradient = random_values(n, 5);
  std::vector<float> payload(kept), host_payload(kept), g(n), host_g(n);
  launch::add_gradient(nullptr, View{gradient.data()}, View{x.data()}, n, true);
  host.loops.add_gradient(*host.stream, View{gradient.data()}, View{host_x.data()}, n, true);
  launch::encode_random_k(nullptr, View{x.data()}, View{payload.data()}, n, kept, 42);
  host.loops.encode_random_k(*host.stream, View{host_x.data()}, View{host_payload.data()}, n, kept,
                             42);
  same_bits(payload, host_payload);
  same_bits(x, host_x);
  launch::decode_random_k(nullptr, View{payload.data()}, View{g.data()}, 2.0f, n, kept, 42);
  host.loops.decode_random_k(*host.stream, View{payload.data()}, View{host_g.data()}, 2.0f, n, kept,
                             42);
  same_bits(g, host_g);
}
TEST_CASE("PowerSGD on the device follows the host through a whole round", "[kernels]") {
  Host host;
  for (const int rank : {1, 3, 12}) {
    const PowerShape shape{30, 41, 30 * 41 - 9, rank};  // short last row
    auto x = random_values(shape.elements, 3), host_x = x;
    const auto p_size = static_cast<std::size_t>(shape.rows * rank),
               q_size = static_cast<std::size_t>(shape.cols * rank);
    std::vector<float> p(p_size), q(q_size), g(x.size()), host_p(p_size), host_q(q_size),
        host_g(x.size());
    const auto close = [](const std::vector<float>& a, const std::vector<float>& b) {
      require_close(a, std::vector<double>(b.begin(), b.end()), 1e-4, 1e-4);
    };
    launch::power_start(nullptr, View{q.data()}, shape, 5);
    host.loops.power_start(*host.stream, View{host_q.data()}, shape, 5);
    same_bits(q, host_q);
    launch::power_project(nullptr, View{x.data()}, View{q.data()}, View{p.data()}, shape);
    host.loops.power_project(*host.stream, View{host_x.data()}, View{host_q.data()},
                             View{host_p.data()}, shape);
    close(p, host_p);
    launch::power_orthonormalise(nullptr, View{p.data()}, shape);
    host.loops.power_orthonormalise(*host.stream, View{host_p.data()}, shape);
    close(p, host_p);
    launch::power_back(nullptr, View{x.data()}, View{p.data()}, View{q.data()}, shape);
    host.loops.power_back(*host.stream, View{host_x.data()}, View{host_p.data()},
                          View{host_q.data()}, shape);
    close(q, host_q);
    close(x, host_x);
    launch::power_expand(nullptr, View{p.data()}, View{q.data()}, View{g.data()}, shape);
    host.loops.power_expand(*host.stream, View{host_p.data()}, View{host_q.data()},
                            View{host_g.data()}, shape);
    close(g, host_g);
  }
}
TEST_CASE("a dependent column of PowerSGD is replaced by a fresh orthogonal one", "[kernels]") {
  const PowerShape shape{50, 50, 2500, 2};
  std::vector<float> p(100);
  for (std::size_t i = 0; i < 50; ++i) p[2 * i] = p[2 * i + 1] = static_cast<float>(i + 1);
  launch::power_orthonormalise(nullptr, View{p.data()}, shape);
  double dot = 0, norm = 0;
  for (std::size_t i = 0; i < 50; ++i)
    dot += static_cast<double>(p[2 * i]) * static_cast<double>(p[2 * i + 1]),
        norm += static_cast<double>(p[2 * i + 1]) * static_cast<double>(p[2 * i + 1]);
  REQUIRE(norm == Approx(1).epsilon(1e-5));
  REQUIRE(dot == Approx(0).margin(1e-5));
}
