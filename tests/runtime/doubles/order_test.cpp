#include "tests/runtime/doubles/plugin.hpp"

using namespace stepcast;
using namespace stepcast::runtime;

TEST_CASE("streams ordered by events give the same numbers under any jitter", "[doubles]") {
  const auto backend = plugin();
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    jitter(300, seed);
    const auto device = backend->open(0);
    const auto compute = device->new_stream("compute"),
               side = device->new_stream("side", StreamPriority::high);
    const auto event = device->new_event();
    const std::int64_t n = 1000;
    Buffer x = put(*device, *compute, std::vector<float>(1000, 1.0f)),
           y(*device, n, Precision::fp32);
    // x = 2x on compute, copied on side after it, x = 2x again only after the copy: y = 2, 8, 32
    // ... each a quarter of what x then becomes.
    for (int round = 0; round < 4; ++round) {
      device->kernels().scale(*compute, x.view(), 2.0f, n);
      make_wait(*side, *compute, *event);
      device->copy(*side, y.data(), x.data(), x.bytes());
      make_wait(*compute, *side, *event);
      device->kernels().scale(*compute, x.view(), 2.0f, n);
    }
    compute->synchronise();
    REQUIRE(get(*device, *side, y) == std::vector<float>(1000, 128.0f));  // 2 * 4^3
    REQUIRE(get(*device, *compute, x) == std::vector<float>(1000, 256.0f));
  }
  jitter(0, 1);
}

TEST_CASE("without the event the jitter shows", "[doubles]") {
  const auto backend = plugin();
  const auto device = backend->open(0);
  const auto compute = device->new_stream("compute"), side = device->new_stream("side");
  int wrong = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    jitter(400, seed);
    Buffer x = put(*device, *compute, std::vector<float>(100, 1.0f)),
           y(*device, 100, Precision::fp32);
    device->kernels().scale(*compute, x.view(), 2.0f, 100);
    device->copy(*side, y.data(), x.data(), x.bytes());
    device->synchronise();
    if (get(*device, *side, y)[0] != 2.0f) ++wrong;
  }
  jitter(0, 1);
  REQUIRE(wrong > 0);  // the test above can fail
}

TEST_CASE("events time a stream and report whether they were reached", "[doubles]") {
  const auto backend = plugin();
  const auto device = backend->open(0);
  const auto stream = device->new_stream("compute");
  const auto begin = device->new_event(true), end = device->new_event(true);
  REQUIRE_FALSE(begin->is_reached());
  jitter(0, 1);
  stream->record(*begin);
  Buffer x = put(*device, *stream, std::vector<float>(200000, 1.0f));
  for (int i = 0; i < 3; ++i) device->kernels().scale(*stream, x.view(), 1.5f, 200000);
  stream->record(*end);
  end->wait();
  REQUIRE(end->is_reached());
  REQUIRE((end->reached_at() - begin->reached_at()).value > 0);
  REQUIRE((end->reached_at() - begin->reached_at()).value < 60);
}

TEST_CASE("products of all transpositions with bias and accumulation agree with loops",
          "[doubles]") {
  const auto backend = plugin();
  const auto device = backend->open(1);
  const auto stream = device->new_stream("compute");
  const std::int64_t m = 5, n = 7, k = 3, batch = 2;
  const auto a = numbers(batch * m * k, 1), b = numbers(batch * k * n, 2),
             c = numbers(batch * m * n, 3), bias = numbers(n, 4);
  Buffer da = put(*device, *stream, a), db = put(*device, *stream, b),
         dbias = put(*device, *stream, bias);
  for (const bool a_transposed : {false, true})
    for (const bool b_transposed : {false, true})
      for (const bool accumulates : {false, true}) {
        Buffer dc = put(*device, *stream, c);
        device->kernels().gemm(*stream, {.a = da.view(),
                                         .b = db.view(),
                                         .c = dc.view(),
                                         .m = m,
                                         .n = n,
                                         .k = k,
                                         .batch = batch,
                                         .a_transposed = a_transposed,
                                         .b_transposed = b_transposed,
                                         .accumulates = accumulates,
                                         .bias = dbias.view(),
                                         .stride_a = m * k,
                                         .stride_b = k * n,
                                         .stride_c = m * n});
        const auto got = get(*device, *stream, dc);
        for (std::int64_t s = 0; s < batch; ++s)
          for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
              const auto at = [](std::int64_t index) { return static_cast<std::size_t>(index); };
              double sum = static_cast<double>(bias[at(j)]) +
                           (accumulates ? static_cast<double>(c[at((s * m + i) * n + j)]) : 0.0);
              for (std::int64_t l = 0; l < k; ++l)
                sum +=
                    static_cast<double>(a[at(s * m * k + (a_transposed ? l * m + i : i * k + l))]) *
                    static_cast<double>(b[at(s * k * n + (b_transposed ? j * k + l : l * n + j))]);
              REQUIRE(got[at((s * m + i) * n + j)] == Approx(sum).margin(1e-5));
            }
      }
}

TEST_CASE(
    "a product of operands in the middle of a buffer asks for no more alignment than they have",
    "[doubles]") {
  const auto backend = plugin();
  const auto device = backend->open(0);
  const auto stream = device->new_stream("compute");
  const Buffer x = put(*device, *stream, {0, 1, 2, 3, 4, 5, 6, 7, 8}),
               y = put(*device, *stream, {0, 0, 0, 0, 0});
  // The same shape twice, first where everything is aligned: a plan of that must not be taken over.
  for (const std::int64_t first : {0, 1}) {
    device->kernels().gemm(
        *stream,
        {.a = x.view(first), .b = x.view(first + 4), .c = y.view(first), .m = 2, .n = 2, .k = 2});
  }
  // (0 1; 2 3) times (4 5; 6 7) begins with 6; then (1 2; 3 4) times (5 6; 7 8) one place further.
  REQUIRE(get(*device, *stream, y) == std::vector<float>{6, 19, 22, 43, 50});
}

TEST_CASE("nothing lives on after device and streams are gone", "[doubles]") {
  const int before = live_objects();
  {
    const auto backend = plugin();
    const auto device = backend->open(0);
    const auto stream = device->new_stream("compute");
    const auto event = device->new_event(true);
    Buffer x(*device, 100, Precision::fp32);
    device->fill_zero(*stream, x.data(), x.bytes());
    stream->record(*event);
    device->kernels().gemm(
        *stream, {.a = x.view(), .b = x.view(), .c = x.view(), .m = 10, .n = 10, .k = 10});
    stream->synchronise();
    REQUIRE(live_objects() > before);
    REQUIRE(device->allocated().value == 400 + (32 << 20));
  }
  REQUIRE(live_objects() == before);
}
