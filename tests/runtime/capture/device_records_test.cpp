#include "runtime/capture/device_records.hpp"
#include "sim/timeline/op_names.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::runtime;

namespace {
DeviceRecord kernel(Nanoseconds start, Nanoseconds end, std::uint32_t stream,
                    std::uint32_t correlation, std::uint64_t node = 0) {
  return {DeviceRecord::Kind::kernel, start, end, stream, correlation, node, "k"};
}
}  // namespace

TEST_CASE("records get the label that was open when their host call was made", "[capture]") {
  RecordBatch batch;
  batch.records = {kernel(200, 300, 13, 2), kernel(100, 150, 12, 1), kernel(400, 500, 12, 3)};
  batch.external_of = {{1, 1},
                       {2, 2}};  // correlation -> label + 1; 3 was enqueued outside of any label
  const auto found = activities_of(batch, {{12, 0}, {13, 1}}, {});
  REQUIRE(found.size() == 3);
  REQUIRE(found[0].start == 100);  // in order of start
  REQUIRE(found[0].label == 0);
  REQUIRE(found[0].stream == 0);
  REQUIRE(found[1].label == 1);
  REQUIRE(found[1].stream == 1);
  REQUIRE(found[2].label == -1);
  REQUIRE(batch.losses.text() == "");
}

TEST_CASE("kernels of a graph are labelled by node because no host call is made for each",
          "[capture]") {
  RecordBatch batch;
  batch.records = {kernel(1, 2, 5, 9, 77), kernel(3, 4, 5, 9, 78), kernel(5, 6, 5, 9, 79)};
  batch.external_of = {{9, 1}};  // the launch of the whole graph was made under label 0
  const auto found = activities_of(batch, {{5, 0}}, {{77, 4}, {78, 5}});
  REQUIRE(found[0].label == 4);
  REQUIRE(found[1].label == 5);
  REQUIRE(found[2].label == 0);  // an unknown node falls back to the launch
}

TEST_CASE("what cannot be used is counted with advice and spoils the trace when it is much",
          "[capture]") {
  RecordBatch batch;
  batch.records = {kernel(0, 0, 5, 1), kernel(10, 5, 5, 1), kernel(1, 2, 99, 1),
                   kernel(1, 2, 5, 1)};
  batch.losses.unknown = 2;
  const auto found = activities_of(batch, {{5, 0}}, {});
  REQUIRE(found.size() == 1);
  REQUIRE(batch.losses.untimed == 2);
  REQUIRE(batch.losses.foreign_stream == 1);
  REQUIRE(batch.losses.text().find("2 records without times") != std::string::npos);
  REQUIRE(batch.losses.text().find("2 records of unknown kinds") != std::string::npos);
  REQUIRE(batch.losses.spoils(1));
  REQUIRE_FALSE(RecordLosses{.untimed = 1}.spoils(1000));  // 0.1 % is tolerated
  REQUIRE(RecordLosses{.untimed = 2}.spoils(1000));
  REQUIRE(RecordLosses{.dropped = 1}.spoils(1000000));
}

TEST_CASE("activities of one label and stream become one span from first start to last end",
          "[capture]") {
  const std::vector<OpLabel> labels{{op::norm1, Category::compute, 2, 1000, 1100},
                                    {op::grad_reduce, Category::compute, -1, 1200, 1300}};
  // Two kernels of norm1 (1500-1600, 1700-1800) beside a reduction 1550-1900 on the second stream;
  // a copy without label.
  const std::vector<Activity> activities{
      {0, 0, 1500, 1600}, {0, 0, 1700, 1800}, {1, 1, 1550, 1900}, {-1, 0, 1900, 1950}};
  const Timeline timeline = timeline_of(labels, activities, {"compute", "comm"}, 0, 3);
  REQUIRE(timeline.tracks.size() == 3);  // and the host
  REQUIRE(timeline.spans.size() == 5);
  // Times count from the first host label, 1000.
  REQUIRE(timeline.spans[0].start == 500);
  REQUIRE(timeline.spans[0].end == 800);
  REQUIRE(timeline.spans[0].micro_batch == 2);
  REQUIRE(timeline.spans[1].start == 900);
  REQUIRE(timeline.spans[1].category == Category::other);
  REQUIRE(timeline.spans[2].track == 1);
  REQUIRE(timeline.spans[2].end == 900);
  REQUIRE(timeline.spans[3].track == 2);
  REQUIRE(timeline.spans[3].start == 0);
}
