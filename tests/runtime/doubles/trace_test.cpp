#include "sim/timeline/op_names.hpp"
#include "tests/runtime/doubles/plugin.hpp"

using namespace stepcast;
using namespace stepcast::runtime;

TEST_CASE("a recording gives each label its device work on its stream with copies and fills",
          "[doubles]") {
  const auto backend = plugin();
  const auto device = backend->open(0);
  const auto compute = device->new_stream("compute"), side = device->new_stream("side");
  const auto event = device->new_event();
  Buffer x = put(*device, *compute, numbers(1000, 1)), y(*device, 1000, Precision::fp32);
  Recorder& recorder = device->recorder();
  device->kernels().scale(*compute, x.view(), 2.0f, 1000);
  compute->synchronise();                    // before the recording: must not appear
  for (int round = 0; round < 2; ++round) {  // a second recording starts clean
    recorder.start();
    {
      const OpScope scope(recorder, op::norm1, Category::compute, 3);
      device->kernels().scale(*compute, x.view(), 2.0f, 1000);
      device->kernels().scale(*compute, x.view(), 0.5f, 1000);
    }
    make_wait(*side, *compute, *event);
    {
      const OpScope scope(recorder, op::grad_reduce);
      device->copy(*side, y.data(), x.data(), x.bytes());
    }
    device->fill_zero(*compute, y.data(), Bytes(4));  // no label
    device->synchronise();
    recorder.stop();
    const auto found = recorder.activities();
    REQUIRE(recorder.labels().size() == 2);
    REQUIRE(found.size() == 4);
    std::map<std::pair<int, std::uint32_t>, int> count;
    for (const Activity& activity : found) {
      ++count[{activity.label, activity.stream}];
      REQUIRE(activity.end >= activity.start);
      if (activity.label >= 0)
        REQUIRE(
            activity.start >=
            recorder.labels()[static_cast<std::size_t>(activity.label)].issued_from);  // one clock
    }
    REQUIRE(count[{0, 0}] == 2);   // the two kernels of norm1 on the first stream
    REQUIRE(count[{1, 1}] == 1);   // the copy of grad_reduce on the second
    REQUIRE(count[{-1, 0}] == 1);  // the fill
  }
}

TEST_CASE("a failure of any CUPTI call is an error that names it and a later recording works",
          "[doubles]") {
  const auto backend = plugin();
  const auto device = backend->open(0);
  const auto stream = device->new_stream("compute");
  Buffer x = put(*device, *stream, numbers(10, 1));
  Recorder& recorder = device->recorder();
  const auto record = [&] {
    recorder.start();
    {
      const OpScope scope(recorder, op::norm1);
      device->kernels().scale(*stream, x.view(), 2.0f, 10);
    }
    stream->synchronise();
    recorder.stop();
    return recorder.activities().size();
  };
  for (const char* function :
       {"cuptiActivityRegisterTimestampCallback", "cuptiActivityRegisterCallbacks",
        "cuptiActivityEnable", "cuptiGetStreamIdEx", "cuptiActivityPushExternalCorrelationId",
        "cuptiActivityPopExternalCorrelationId", "cuptiActivityFlushAll"}) {
    fail_at(function, 1);
    INFO(function);
    std::string text;
    try {
      record();
    } catch (const EnvironmentError& error) {
      text = error.what();
    }
    fail_at("", 0);
    if (recorder.is_on()) recorder.stop();
    REQUIRE(text.find(function) != std::string::npos);
  }
  REQUIRE(record() == 1);
}
