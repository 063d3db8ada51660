#include "calibrate/step/call_log.hpp"

#include "runtime/launch/tcp_store.hpp"
#include "tests/support/test.hpp"

namespace stepcast::calibrate::test {
using runtime::Buffer;
using runtime::ElementCount;

TEST_CASE("collectives are noted with their whole buffer and stream while the log is on",
          "[calibrate]") {
  const auto backend = runtime::backend_of("cpu");
  const auto device = backend->open(0);
  const auto store = runtime::new_local_store(Seconds(10));
  CallLog log(*backend);
  const auto group = log.new_communicator(*device, *store, {.name = "one", .rank = 0, .size = 1});
  const auto compute = device->new_stream("compute"), side = device->new_stream("gradient");
  const Buffer x(*device, 8, Precision::fp32), y(*device, 8, Precision::fp32),
      half(*device, 6, Precision::fp16);
  group->all_reduce(*side, x.view(), ElementCount{8});  // not noted
  log.start();
  group->all_reduce(*side, half.view(), ElementCount{6});
  group->all_gather(*compute, x.view(), y.view(), ElementCount{8});
  log.stop();
  group->all_reduce(*side, x.view(), ElementCount{8});
  device->synchronise();
  REQUIRE(log.calls() ==
          std::vector<CollectiveCall>{{Collective::all_reduce, Precision::fp16, 6, 1, "gradient"},
                                      {Collective::all_gather, Precision::fp32, 8, 1, "compute"}});
  REQUIRE(log.calls().front().bytes() == Bytes(12));
}
}  // namespace stepcast::calibrate::test
