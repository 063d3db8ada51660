#include "tests/runtime/doubles/plugin.hpp"

using namespace stepcast;
using namespace stepcast::runtime;

TEST_CASE("a captured graph runs nothing while captured and all of it at each launch",
          "[doubles]") {
  const auto backend = plugin();
  const auto device = backend->open(0);
  const auto stream = device->new_stream("compute"), side = device->new_stream("side");
  const auto event = device->new_event();
  Buffer x = put(*device, *stream, {1, 2, 3}), y(*device, 3, Precision::fp32);
  const auto graph = device->capture(*stream, [&] {
    device->kernels().scale(*stream, x.view(), 3.0f, 3);
    make_wait(*side, *stream, *event);  // the side stream joins
    device->copy(*side, y.data(), x.data(), x.bytes());
    make_wait(*stream, *side, *event);
  });
  REQUIRE(get(*device, *stream, x) == std::vector<float>{1, 2, 3});
  graph->launch(*stream);
  graph->launch(*stream);
  REQUIRE(get(*device, *stream, x) == std::vector<float>{9, 18, 27});
  REQUIRE(get(*device, *stream, y) == std::vector<float>{9, 18, 27});
}

TEST_CASE("work that throws while captured leaves the stream usable", "[doubles]") {
  const auto backend = plugin();
  const auto device = backend->open(0);
  const auto stream = device->new_stream("compute");
  Buffer x = put(*device, *stream, {1, 2});
  REQUIRE_THROWS_AS(device->capture(*stream, [&] { throw EnvironmentError("no"); }),
                    EnvironmentError);
  // Waiting for the host is not allowed inside a capture; the reason comes out, not a hang.
  REQUIRE_THROWS_AS(device->capture(*stream, [&] { stream->synchronise(); }), EnvironmentError);
  device->kernels().scale(*stream, x.view(), 2.0f, 2);
  REQUIRE(get(*device, *stream, x) == std::vector<float>{2, 4});
}
